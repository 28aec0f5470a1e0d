import type { JobFacts, TaskFacts } from "./facts.ts";
import type { LedgerLine } from "./ledger.ts";
import { exitCodeOf, lastAttemptOf, type PlannedJob } from "./planned-job.ts";

/** One task: its plan, its state at the server, and the records of its executions. */
export interface TaskCase {
  readonly task: TaskFacts;
  readonly plan: PlannedJob;
  readonly cancelAsked: boolean;
  readonly starts: readonly LedgerLine[];
  readonly ends: readonly LedgerLine[];
  readonly nodesMayBeLost: boolean;
  /** The state of the job it depends on; undefined: it depends on none. */
  readonly awaited?: JobFacts | undefined;
}

export function* checkTask(one: TaskCase): Generator<string> {
  const { task, plan } = one;
  const expected = exitCodeOf(plan, task.index, task.attempt);
  yield* checkAwaited(one);
  if (task.state === "skipped") return;
  switch (task.state) {
    case "succeeded":
      if (expected !== 0) yield `the script exits with ${expected}`;
      yield* checkEnds(one, task.attempt);
      break;
    case "failed":
      if (expected === 0 || task.exitCode !== expected) {
        yield `exit code ${task.exitCode} (${task.reason}), the script's is ${expected}`;
      }
      yield* checkEnds(one, task.attempt);
      break;
    case "cancelled":
      if (!isCancelAsked(one)) yield "nobody cancelled it";
      break;
    default:
      yield "it has not ended";
  }
  for (const past of task.past) yield* checkPast(one, past);
  if (!one.nodesMayBeLost) yield* checkAttempts(one);
}

/** A job that depends on another runs after its end, or not at all. */
function* checkAwaited({ task, plan: { after }, awaited }: TaskCase): Generator<string> {
  const isOk = awaited?.state === "succeeded";
  const isMet = after?.kind !== (isOk ? "afternotok" : "afterok");
  if (task.state === "skipped") {
    if (after === undefined) yield "skipped, and it waits for nobody";
    else if (isMet) yield `skipped, and ${after.key} is ${awaited?.state}`;
    return;
  }
  if (after === undefined) return;
  if (!isMet) yield `not skipped, though ${after.key} is ${awaited?.state}`;
  const before = Math.max(...(awaited?.tasks ?? []).map(({ endedAtMs }) => endedAtMs));
  if (task.startedAtMs < before)
    yield `began ${before - task.startedAtMs} ms before ${after.key} ended`;
}

function isCancelAsked({ plan, task, cancelAsked }: TaskCase): boolean {
  return cancelAsked && (plan.cancel?.index ?? task.index) === task.index;
}

/** An end that the server attributes to the script must be one. */
function* checkEnds({ ends }: TaskCase, attempt: number): Generator<string> {
  const count = ends.filter((line) => line.attempt === attempt).length;
  if (count !== 1) yield `attempt ${attempt} came to its end ${count} times`;
}

/** Earlier attempts failed like the script, or their node was lost: nothing else explains them. */
function* checkPast(one: TaskCase, past: TaskFacts["past"][number]): Generator<string> {
  const { attempt, exitCode, reason } = past;
  if (/^lost: node \S+ was lost$/.test(reason)) {
    if (!one.nodesMayBeLost) yield `attempt ${attempt} was lost though no node was away for long`;
    return;
  }
  const expected = exitCodeOf(one.plan, one.task.index, attempt);
  if (expected === 0 || exitCode !== expected) {
    yield `attempt ${attempt} ended with ${exitCode} (${reason}), the script's is ${expected}`;
  }
  yield* checkEnds(one, attempt);
}

/** Where no node is lost the attempts follow from the script and the retries. */
function* checkAttempts({ task, plan, starts }: TaskCase): Generator<string> {
  const last = lastAttemptOf(plan, task.index);
  if (task.state === "cancelled") {
    if (task.attempt > last) yield `retries explain ${last} attempts`;
    return;
  }
  if (task.attempt !== last) yield `retries explain ${last} attempts`;
  const want = Array.from({ length: last }, (_, at) => at + 1).join();
  const executed = starts.map(({ attempt }) => attempt).join();
  if (executed !== want) yield `executed were the attempts ${executed}, in this order, not ${want}`;
}
