import { checkTask } from "./check-task.ts";
import type { JobFacts, TaskFacts } from "./facts.ts";
import type { Ledger, LedgerLine } from "./ledger.ts";
import { indexesOf, type PlannedJob } from "./planned-job.ts";

/** One job of the load and the answer that its client received. */
export interface Submitted {
  readonly plan: PlannedJob;
  /** Every id that an answer named for this key; none: never acknowledged. */
  readonly ids: ReadonlySet<string>;
  /** The client sent a cancel, whether or not an answer came. */
  readonly cancelAsked: boolean;
}

/** All observations of a world from outside: from clients, tasks and the server. */
export interface Evidence {
  /** Nodes may be away for longer than `--node-lost-after`: only then may attempts be lost. */
  readonly nodesMayBeLost: boolean;
  readonly submitted: ReadonlyMap<string, Submitted>;
  readonly jobs: readonly JobFacts[];
  /** Read again, after one more kill of the server. */
  readonly jobsLater: readonly JobFacts[];
  /** Tasks at the time a watcher saw them end, during the rounds. */
  readonly seenEnded: ReadonlyMap<string, TaskFacts>;
  readonly ledger: Ledger;
}

const ENDED = new Set(["succeeded", "failed", "cancelled", "expired", "skipped"]);

export const taskKey = (task: { readonly jobId: string; readonly index: number }): string =>
  `${task.jobId}.${task.index}`;

const attemptKey = (line: LedgerLine): string => `${taskKey(line)}#${line.attempt}`;

/** All mistakes, in words. */
export function check(evidence: Evidence): string[] {
  return [
    ...checkSubmits(evidence),
    ...checkLedger(evidence),
    ...checkJobs(evidence),
    ...checkLater(evidence),
    ...checkSeen(evidence),
  ];
}

function* checkSubmits({ submitted, jobs }: Evidence): Generator<string> {
  const jobsByKey = Map.groupBy(jobs, ({ key }) => key);
  for (const [key, found] of jobsByKey) {
    const ids = found.map(({ id }) => id).join(", ");
    if (found.length > 1) yield `${key} exists ${found.length} times: jobs ${ids}`;
    if (!submitted.has(key)) yield `job ${ids} has key "${key}", which nobody submitted`;
  }
  for (const [key, { ids }] of submitted) {
    if (ids.size > 1) yield `${key} was acknowledged as different jobs: ${[...ids].join(", ")}`;
    for (const id of ids) {
      if (jobsByKey.get(key)?.some((job) => job.id === id) !== true) {
        yield `${key} was acknowledged as job ${id}, which does not exist`;
      }
    }
  }
}

/** No attempt is executed twice, on whatever node, and none that the server does not know. */
function* checkLedger({ ledger, jobs }: Evidence): Generator<string> {
  const tasks = tasksByKey(jobs);
  const started = new Map<string, LedgerLine>();
  for (const line of ledger.started) {
    const before = started.get(attemptKey(line));
    if (before !== undefined) {
      yield `${attemptKey(line)} was executed twice: on ${before.node} and on ${line.node}`;
    }
    started.set(attemptKey(line), line);
    const task = tasks.get(taskKey(line));
    if (task === undefined) yield `${attemptKey(line)} was executed, but there is no such task`;
    else if (line.attempt > task.attempt) {
      yield `${attemptKey(line)} was executed, but the server knows of ${task.attempt} attempts only`;
    }
  }
  for (const line of ledger.ended) {
    if (!started.has(attemptKey(line)))
      yield `${attemptKey(line)} came to its end without a beginning`;
  }
}

function* checkJobs({ jobs, submitted, ledger, nodesMayBeLost }: Evidence): Generator<string> {
  const starts = Map.groupBy(ledger.started, taskKey);
  const ends = Map.groupBy(ledger.ended, taskKey);
  const byKey = new Map(jobs.map((job) => [job.key, job]));
  for (const job of jobs) {
    const own = submitted.get(job.key);
    if (own === undefined) continue;
    if (!ENDED.has(job.state)) yield `job ${job.id} is ${job.state} and not at its end`;
    const want = indexesOf(own.plan).join();
    const have = job.tasks.map(({ index }) => index).join();
    if (have !== want) yield `job ${job.id} has the tasks ${have}, not ${want}`;
    const awaited = byKey.get(own.plan.after?.key ?? "");
    for (const task of job.tasks) {
      const key = taskKey(task);
      const lines = { starts: starts.get(key) ?? [], ends: ends.get(key) ?? [] };
      for (const wrong of checkTask({ task, ...own, ...lines, awaited, nodesMayBeLost })) {
        yield `task ${key} (${job.key}, ${task.state}, attempt ${task.attempt}): ${wrong}`;
      }
    }
  }
}

function* checkLater({ jobs, jobsLater }: Evidence): Generator<string> {
  const later = new Map(jobsLater.map((job) => [job.id, JSON.stringify(job)]));
  for (const job of jobs) {
    const now = later.get(job.id);
    if (now === undefined) yield `job ${job.id} is gone after another restart`;
    else if (now !== JSON.stringify(job)) yield `job ${job.id} changed after its end: ${now}`;
  }
  if (jobsLater.length > jobs.length) yield "there are more jobs after another restart";
}

function* checkSeen({ seenEnded, jobs }: Evidence): Generator<string> {
  const tasks = tasksByKey(jobs);
  for (const [key, then] of seenEnded) {
    const [was, is] = [JSON.stringify(then), JSON.stringify(tasks.get(key))];
    if (was !== is) yield `task ${key} was seen ended as ${was} and is now ${is}`;
  }
}

const tasksByKey = (jobs: readonly JobFacts[]): Map<string, TaskFacts> =>
  new Map(jobs.flatMap(({ tasks }) => tasks.map((task) => [taskKey(task), task])));
