import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { positionOf } from "../../../model/job/array-range.ts";
import { type Job, taskTotalOf } from "../../../model/job/job.ts";
import { isEnded, isHeldTask } from "../../../model/job/task.ts";
import {
  isHeldAt,
  isWhollyHeld,
  type Span,
  type UserHold,
  withoutPosition,
  withPosition,
} from "../../../model/job/user-hold.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { State } from "../../state.ts";
import { takenBack } from "../tasks/held.ts";
import { openJobToChange, shownReason } from "./job-to-change.ts";

type HoldJob = CommandOf<"hold-job">;

/**
 * Holds a job, or one task of it, in the queue, or releases it. Writes one row, however many tasks it has. Running tasks continue; the
 * server asks agents to return tasks that they have fetched ahead.
 */
export function holdJob(state: State, command: HoldJob): Decision<undefined> {
  const record = openJobToChange(state, command);
  const { job } = record;
  if (job.spec.energy !== undefined && command.index !== undefined) {
    throw new AppError("conflict", `job ${job.id} is split by energy: hold the whole job`);
  }
  const hold = holdAfter(record, command);
  if (hold === job.hold) return { changes: [], answer: undefined };
  const { hold: _, ...rest } = job;
  const row: Job = { ...rest, ...(hold && { hold }), changedBy: command.by };
  const changes: Change[] = [{ table: "job", row }];
  if (hold !== undefined) changes.push(...wantedBack(record, hold));
  return { changes, answer: undefined };
}

function holdAfter(record: JobRecord, command: HoldJob): UserHold | undefined {
  const { job } = record;
  const { index, hold: wanted } = command;
  const before = job.hold;
  if (index === undefined) {
    if (wanted === undefined) return undefined;
    return isWhollyHeld(before) ? before : newHold(command, wanted.reason, undefined);
  }
  const total = taskTotalOf(job.spec);
  const position = positionOf(record.ranges, index);
  if (isHeldAt(before, position) === (wanted !== undefined)) return before;
  const spans = before === undefined ? [] : (before.tasks ?? [{ first: 0, last: total - 1 }]);
  if (wanted === undefined) {
    const tasks = withoutPosition(spans, position);
    return before && tasks.length > 0 ? { ...before, tasks: checkSpans(job, tasks) } : undefined;
  }
  const task = record.task(index);
  if (task !== undefined && isEnded(task.state)) {
    throw new AppError("conflict", `task ${job.id}.${index} has ended: ${task.state.kind}`);
  }
  const tasks = withPosition(spans, position);
  const isAll = tasks.length === 1 && tasks[0]?.first === 0 && tasks[0].last === total - 1;
  return newHold(command, wanted.reason, isAll ? undefined : checkSpans(job, tasks));
}

function newHold(
  { by, nowMs: atMs }: HoldJob,
  reason: string,
  tasks: readonly Span[] | undefined,
): UserHold {
  return { by, atMs, reason: shownReason(reason), ...(tasks && { tasks }) };
}

/** Limits their number: each placement reads them. */
function checkSpans(job: Job, spans: readonly Span[]): readonly Span[] {
  if (spans.length <= limits.heldSpansMax) return spans;
  throw new AppError(
    "exhausted",
    `at most ${limits.heldSpansMax} separate tasks of job ${job.id} can be held; hold the whole job ` +
      "or tasks with consecutive indexes",
  );
}

/** Tasks on hold that agents have fetched ahead. */
function wantedBack(record: JobRecord, hold: UserHold): Change[] {
  if (record.progress.counts.held === 0) return [];
  const changes: Change[] = [];
  for (const task of record.openTaskRows()) {
    if (!isHeldTask(task) || !isHeldAt(hold, positionOf(record.ranges, task.index))) continue;
    const row = takenBack(task, hold.reason);
    if (row !== undefined) changes.push({ table: "task", row });
  }
  return changes;
}
