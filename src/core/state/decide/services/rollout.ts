import type { Change } from "../../change.ts";
import type { ServiceRecord, SlotRecord } from "../../services/service-record.ts";
import type { State } from "../../state.ts";
import { replaceJob } from "./fill-slots.ts";
import { describeFailure } from "../../../model/job/task.ts";

/**
 * Rolls out one more slot, while no more than `maxUnavailable` are between two generations; stops when a new instance fails, and is done
 * when all have the new generation and are ready.
 */
export function rolloutStep(state: State, record: ServiceRecord, nowMs: number): readonly Change[] {
  const { row, sets } = record;
  const { rollout, template } = row;
  if (rollout.kind !== "rolling") return [];
  for (const slot of sets.failing) {
    const reason = `${slot.row.name} of generation ${template.generation} ${whyOf(state, slot)}`;
    const { from } = rollout;
    const stopped = { kind: "stopped", from, sinceMs: nowMs, reason } as const;
    return [{ table: "service", row: { ...row, rollout: stopped } }];
  }
  if (sets.outdatedDown.size + sets.outdatedUp.size + sets.unready.size === 0) {
    return [{ table: "service", row: { ...row, rollout: { kind: "done" } } }];
  }
  const slot = nextOutdated(record);
  if (slot === undefined) return [];
  const { generation } = template;
  const reason = `replaced by generation ${generation} of service ${row.id}`;
  return replaceJob(state, slot, generation, { reason, by: row.changedBy, nowMs });
}

/** Instances that do not run go first: replacing them loses nothing, and a rollback need not try them one by one. */
function nextOutdated({ row, sets }: ServiceRecord): SlotRecord | undefined {
  const { rollout, template, terms } = row;
  const mayMore = sets.unready.size < terms.maxUnavailable;
  const isBack = rollout.kind === "rolling" && rollout.from === template.generation;
  const [down] = sets.outdatedDown;
  if (down !== undefined) return mayMore || isBack ? down : undefined;
  const [up] = sets.outdatedUp;
  return mayMore ? up : undefined;
}

function whyOf(state: State, { row, failures }: SlotRecord): string {
  if (row.ended !== undefined) return `${row.ended.state}: ${row.ended.reason ?? "by itself"}`;
  const last = state.jobs.get(row.jobId)?.task(0)?.past.at(-1)?.failure;
  const times = failures === 1 ? "once" : `${failures} times`;
  return `failed ${times}${last === undefined ? "" : `: ${describeFailure(last)}`}`;
}
