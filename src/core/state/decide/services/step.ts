import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { describeFailure } from "../../../model/job/task.ts";
import {
  countedName,
  type Service,
  type Slot,
  type SlotEnd,
  steadyGeneration,
} from "../../../model/service/service.ts";
import { instancesAtOnce } from "../../../model/service/instances-at-once.ts";
import { endOf } from "../../../model/progress.ts";
import type { Change } from "../../change.ts";
import type { ServiceRecord, SlotRecord } from "../../services/service-record.ts";
import type { State } from "../../state.ts";
import { emptied, type EmptySlot, fillSlots, newSlot, removeSlot } from "./fill-slots.ts";
import { rolloutStep } from "./rollout.ts";
import { templateChars } from "./services.ts";

/**
 * The next changes that bring a service to its wanted state; undefined: none is needed. Reads the newest state: apply the changes before
 * the next call. Reads only changed services, and a bounded number of their slots.
 */
export function nextServiceStep(state: State, nowMs: number): readonly Change[] | undefined {
  const { services } = state;
  services.processDueAlarms(nowMs);
  for (;;) {
    const record = services.nextChanged();
    if (record === undefined) return undefined;
    const changes = stepOf(state, record, nowMs);
    if (changes.length > 0) return changes;
  }
}

/** Each change marks the service as changed: the rest of its work follows in the next step. */
function stepOf(state: State, record: ServiceRecord, nowMs: number): readonly Change[] {
  if (record.row.removal !== undefined) return removalStep(state, record, nowMs);
  for (const step of [endsStep, surplusStep, missingStep, rolloutStep]) {
    const changes = step(state, record, nowMs);
    if (changes.length > 0) return changes;
  }
  return [];
}

/** The service is being removed: first all its slots, then itself. */
function removalStep(state: State, { row, sets, slots }: ServiceRecord, nowMs: number): Change[] {
  const { removal } = row;
  if (removal === undefined) return [];
  if (slots.size === 0) return [{ table: "service", removed: row.id, by: removal.by }];
  const { reason, by } = removal;
  return some(new Set([...some(sets.ended), ...some(sets.settled), ...some(sets.kept)])).flatMap(
    (slot) => removeSlot(state, slot, { reason, by, nowMs }),
  );
}

/** Slots whose jobs have ended: each is removed, gets another job, or records how it ended. */
function endsStep(state: State, record: ServiceRecord, nowMs: number): readonly Change[] {
  const changes: Change[] = [];
  const empty: EmptySlot[] = [];
  for (const slot of some(record.sets.ended)) {
    const { row } = slot;
    const next = afterEnd(state, slot);
    if (next === "goes") changes.push({ table: "slot", removed: row.id });
    else if (next === "again") empty.push(emptied(slot));
    else changes.push({ table: "slot", row: { ...row, ended: next } });
  }
  return [...changes, ...fill(state, record, empty, nowMs)];
}

function afterEnd(state: State, { row }: SlotRecord): "goes" | "again" | SlotEnd {
  if (row.isRemoved === true) return "goes";
  if (row.isReplaced === true) return "again";
  const record = state.jobs.get(row.jobId);
  // A caller has cancelled it: numbered instances are replaced, named ones are not.
  if (record === undefined || record.job.closed?.kind === "cancelled") {
    return row.number === undefined ? "goes" : "again";
  }
  const { job, progress } = record;
  const task = record.task(0)?.state;
  const why = task?.kind === "failed" ? describeFailure(task.failure) : job.closed?.reason;
  const end = { state: progress.state, atMs: endOf(job, progress) };
  return why === undefined ? end : { ...end, reason: why };
}

/** More instances than wanted: removes those with the largest numbers. */
function surplusStep(state: State, record: ServiceRecord, nowMs: number): readonly Change[] {
  const { row, counted } = record;
  const changes: Change[] = [];
  let left = Math.min(counted.size - row.replicas, limits.instancesPerStepMax);
  for (const slot of counted) {
    if (left-- <= 0) break;
    const order = { reason: `scaled down to ${row.replicas}`, by: row.changedBy, nowMs };
    changes.push(...removeSlot(state, slot, order));
  }
  return changes;
}

/** Fewer instances than wanted: adds those with the smallest free numbers. */
function missingStep(state: State, record: ServiceRecord, nowMs: number): readonly Change[] {
  const { row, counted, slots } = record;
  const changes: Change[] = [];
  const empty: EmptySlot[] = [];
  let left = Math.min(row.replicas - counted.size, limits.instancesPerStepMax);
  for (; left > 0; record.freeFrom++) {
    const number = record.freeFrom;
    const name = countedName(row.id, number);
    const slot = slots.get(name);
    if (slot === undefined) empty.push(newSlot(row, name, number));
    else if (slot.row.isRemoved !== true || slot.row.number === undefined) continue;
    else changes.push({ table: "slot", row: revived(slot.row, row) });
    left--;
  }
  const filled = fill(state, record, empty, nowMs);
  // Rejected ones have left their numbers free.
  const made = filled.filter(({ table }) => table === "slot").length;
  record.freeFrom = empty[made]?.number ?? record.freeFrom;
  return [...changes, ...filled];
}

/** Its job is being stopped: when that has ended, the slot gets the job that a new slot would get. */
function revived({ isRemoved: _removed, ...row }: Slot, service: Service): Slot {
  return { ...row, generation: steadyGeneration(service), isReplaced: true };
}

/** A rejected job (a group at its limit) is tried again later; until then the service shows the reason. */
function fill(
  state: State,
  record: ServiceRecord,
  empty: readonly EmptySlot[],
  nowMs: number,
): readonly Change[] {
  const { services } = state;
  const { by, spec } = record.row.template;
  // All or none are accepted. After a rejection a single one tests whether there is capacity again.
  const most = record.blocked === undefined ? instancesAtOnce(templateChars(spec)) : 1;
  let count = Math.min(empty.length, most);
  for (; count > 0; count = Math.floor(count / 2)) {
    try {
      const { changes } = fillSlots(state, record.row, empty.slice(0, count), { by, nowMs });
      services.unblock(record);
      return changes;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (count === 1) services.block(record, error.message, nowMs + limits.serviceRetryMs);
    }
  }
  return [];
}

/** As many of them as one step handles. */
function some(slots: Iterable<SlotRecord>): SlotRecord[] {
  const found: SlotRecord[] = [];
  for (const slot of slots) {
    if (found.length >= limits.instancesPerStepMax) break;
    found.push(slot);
  }
  return found;
}
