import { describe, expect, test } from "vitest";
import { check, type Evidence, type Submitted } from "./check.ts";
import type { JobFacts, TaskFacts } from "./facts.ts";
import { parseLine, type LedgerLine } from "./ledger.ts";
import type { PlannedJob } from "./planned-job.ts";

const aPlan = (key: string, plan: Partial<PlannedJob> = {}): PlannedJob => ({
  key,
  arraySize: undefined,
  sleepMs: 0,
  failEvery: 0,
  failAttempts: 1,
  failCode: 7,
  retries: 1,
  cancel: undefined,
  isAbandoned: false,
  isDoubled: false,
  request: undefined,
  after: undefined,
  ...plan,
});

const aTask = (jobId: string, task: Partial<TaskFacts> = {}): TaskFacts => ({
  jobId,
  index: 0,
  state: "succeeded",
  attempt: 1,
  node: "a1",
  exitCode: 0,
  signal: "",
  reason: "",
  startedAtMs: 4,
  endedAtMs: 5,
  past: [],
  ...task,
});

const submitted = (plan: PlannedJob, ...ids: string[]): [string, Submitted] => [
  plan.key,
  { plan, ids: new Set(ids), cancelAsked: plan.cancel !== undefined },
];

const retried = aTask("2", {
  attempt: 2,
  past: [{ attempt: 1, exitCode: 7, reason: "exited with code 7" }],
});
const failed = aTask("3", { state: "failed", exitCode: 7, reason: "exited with code 7" });

const aJob = (key: string, task: TaskFacts, job: Partial<JobFacts> = {}): JobFacts => ({
  id: task.jobId,
  key,
  state: task.state,
  tasks: [task],
  ...job,
});

interface World extends Evidence {
  jobs: JobFacts[];
  jobsLater: JobFacts[];
  seenEnded: Map<string, TaskFacts>;
  submitted: Map<string, Submitted>;
  ledger: { started: LedgerLine[]; ended: LedgerLine[] };
}

const later = aTask("5", { startedAtMs: 5, endedAtMs: 6 });
const skipped = aTask("6", { state: "skipped", attempt: 0, node: "", startedAtMs: 0 });

/**
 * A correct world: one job that succeeds, one that succeeds after retries, one that fails, one that ran after the first, and one that
 * waited in vain for it to fail.
 */
function aWorld(nodesMayBeLost = false): World {
  const jobs = [
    aJob("k1", aTask("1")),
    aJob("k2", retried),
    aJob("k3", failed),
    aJob("k5", later),
    aJob("k6", skipped),
  ];
  const lines = ["1 0 1 a1 10", "2 0 1 a2 11", "2 0 2 a1 12", "3 0 1 a1 13", "5 0 1 a1 14"].map(
    parseLine,
  );
  return {
    nodesMayBeLost,
    submitted: new Map([
      submitted(aPlan("k1"), "1"),
      submitted(aPlan("k2", { failEvery: 1 }), "2"),
      submitted(aPlan("k3", { failEvery: 1, retries: 0 }), "3"),
      submitted(aPlan("k4")),
      submitted(aPlan("k5", { after: { key: "k1", kind: "afterok" } }), "5"),
      submitted(aPlan("k6", { after: { key: "k1", kind: "afternotok" } }), "6"),
    ]),
    jobs,
    jobsLater: structuredClone(jobs),
    seenEnded: new Map([["3.0", failed]]),
    ledger: { started: lines, ended: [...lines] },
  };
}

const replaceJob = (world: World, at: number, task: TaskFacts, key = `k${at + 1}`): void => {
  world.jobs[at] = aJob(key, task);
  world.jobsLater[at] = aJob(key, task);
};

const lost = { attempt: 1, exitCode: 0, reason: "lost: node a1 was lost" };

const mutations: readonly [name: string, mutate: (world: World) => void, want: RegExp][] = [
  [
    "an attempt executed twice",
    (w) => w.ledger.started.push(parseLine("1 0 1 a2 99")),
    /1\.0#1 was executed twice: on a1 and on a2/,
  ],
  [
    "an acknowledged job is gone",
    (w) => w.jobs.splice(0, 1),
    /k1 was acknowledged as job 1, which does not exist/,
  ],
  ["a key exists twice", (w) => w.jobs.push(aJob("k1", aTask("9"))), /k1 exists 2 times/],
  [
    "an unacknowledged key exists twice",
    (w) => w.jobs.push(aJob("k4", aTask("8")), aJob("k4", aTask("9"))),
    /k4 exists 2 times/,
  ],
  [
    "a key was acknowledged as two jobs",
    (w) => w.submitted.set(...submitted(aPlan("k1"), "1", "2")),
    /acknowledged as different jobs/,
  ],
  [
    "a job that nobody submitted",
    (w) => w.jobs.push(aJob("k9", aTask("9"))),
    /which nobody submitted/,
  ],
  [
    "an execution of no task",
    (w) => w.ledger.started.push(parseLine("9 0 1 a1 9")),
    /there is no such task/,
  ],
  [
    "an execution the server knows nothing of",
    (w) => w.ledger.started.push(parseLine("1 0 2 a1 9")),
    /knows of 1 attempts only/,
  ],
  [
    "attempts in the wrong order",
    (w) => w.ledger.started.reverse(),
    /executed were the attempts 2,1/,
  ],
  [
    "an end without a beginning",
    (w) => w.ledger.started.splice(0, 1),
    /1\.0#1 came to its end without a beginning/,
  ],
  [
    "a success that never came to its end",
    (w) => w.ledger.ended.splice(0, 1),
    /attempt 1 came to its end 0 times/,
  ],
  [
    "a success that came to its end twice",
    (w) => w.ledger.ended.push(parseLine("1 0 1 a2 9")),
    /attempt 1 came to its end 2 times/,
  ],
  [
    "a failure that never came to its end",
    (w) => w.ledger.ended.splice(3, 1),
    /task 3\.0 .*came to its end 0 times/,
  ],
  [
    "an altered exit code",
    (w) => replaceJob(w, 2, { ...failed, exitCode: 8 }),
    /exit code 8 .*the script's is 7/,
  ],
  [
    "a success of a script that fails",
    (w) => replaceJob(w, 2, aTask("3")),
    /the script exits with 7/,
  ],
  [
    "a failure of a script that succeeds",
    (w) => replaceJob(w, 0, { ...failed, jobId: "1" }),
    /the script's is 0/,
  ],
  [
    "a past attempt with another exit code",
    (w) => replaceJob(w, 1, { ...retried, past: [{ attempt: 1, exitCode: 1, reason: "x" }] }),
    /attempt 1 ended with 1/,
  ],
  [
    "a lost attempt though no node was away",
    (w) => replaceJob(w, 1, { ...retried, past: [lost] }),
    /lost though no node was away/,
  ],
  [
    "more attempts than retries explain",
    (w) => replaceJob(w, 0, aTask("1", { attempt: 2 })),
    /retries explain 1 attempts/,
  ],
  [
    "a task that has not ended",
    (w) => replaceJob(w, 0, aTask("1", { state: "running" })),
    /it has not ended/,
  ],
  [
    "a cancel that nobody asked for",
    (w) => replaceJob(w, 0, aTask("1", { state: "cancelled" })),
    /nobody cancelled it/,
  ],
  [
    "a task too many",
    (w) =>
      w.jobs[0]?.tasks &&
      (w.jobs[0] = { ...w.jobs[0], tasks: [aTask("1"), aTask("1", { index: 1 })] }),
    /has the tasks 0,1, not 0/,
  ],
  [
    "a job that began before what it waits for ended",
    (w) => replaceJob(w, 3, { ...later, startedAtMs: 3 }, "k5"),
    /began 2 ms before k1 ended/,
  ],
  [
    "a job that ran though it should have been skipped",
    (w) =>
      w.submitted.set(...submitted(aPlan("k5", { after: { key: "k3", kind: "afterok" } }), "5")),
    /not skipped, though k3 is failed/,
  ],
  [
    "a job that was skipped though it could have run",
    (w) =>
      w.submitted.set(...submitted(aPlan("k6", { after: { key: "k1", kind: "afterany" } }), "6")),
    /skipped, and k1 is succeeded/,
  ],
  [
    "a job that was skipped and waited for nobody",
    (w) => w.submitted.set(...submitted(aPlan("k6"), "6")),
    /skipped, and it waits for nobody/,
  ],
  [
    "an end that changed by the next restart",
    (w) => (w.jobsLater[0] = aJob("k1", aTask("1", { endedAtMs: 6 }))),
    /changed after its end/,
  ],
  ["a job gone by the next restart", (w) => w.jobsLater.splice(0, 1), /gone after another restart/],
  [
    "an end that changed after it was seen",
    (w) => w.seenEnded.set("1.0", failed),
    /was seen ended as/,
  ],
];

describe("the checkers of the crash rounds", () => {
  test("find nothing wrong in a correct world", () => {
    expect(check(aWorld())).toEqual([]);
    expect(check(aWorld(true))).toEqual([]);
  });

  test("an attempt lost with its node is no mistake where nodes may be lost", () => {
    const world = aWorld(true);
    const again = aTask("1", { attempt: 2, past: [lost] });
    replaceJob(world, 0, again);
    const second = parseLine("1 0 2 a2 20");
    world.ledger.started.push(second);
    world.ledger.ended.push(second);
    expect(check(world)).toEqual([]);
  });

  for (const [name, mutate, want] of mutations) {
    test(`detect ${name}`, () => {
      const world = aWorld();
      mutate(world);
      expect(check(world).join("\n")).toMatch(want);
    });
  }
});
