import { expect, test } from "vitest";

import { aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { TaskFailure, Task } from "../../core/model/job/task.ts";
import { noCounts } from "../../core/model/progress.ts";
import { showJob, showTask } from "./show.ts";

function aJob(array?: string): Job {
  const world = new World();
  const spec = aSpec(array === undefined ? {} : { array });
  const submissions = [{ spec, idempotencyKey: undefined }];
  const [given] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 0 });
  const job = given && world.state.jobs.get(given.id)?.job;
  if (job === undefined) throw new Error("no job");
  return job;
}

const MIB = 1_024 ** 2;

test.each([
  [{ kind: "exited", exitCode: 3 }, 3, 3],
  [{ kind: "signalled", signal: "SIGTERM" }, undefined, 143],
  [{ kind: "time-limit" }, 124, 124],
  [{ kind: "out-of-memory", limitBytes: 32 * MIB }, undefined, 137],
  [{ kind: "could-not-start", message: "" }, 127, 127],
  [{ kind: "node-fault", message: "" }, undefined, undefined],
  [{ kind: "vanished", message: "" }, undefined, undefined],
  [{ kind: "lost", message: "" }, undefined, undefined],
] as const satisfies readonly [TaskFailure, number | undefined, number | undefined][])(
  "the exit codes of a task that failed by %o, and of its job",
  (failure, ofTask, ofJob) => {
    const job = aJob();
    const only = aFailedTask(job, failure);
    expect(showTask(job, 0, { row: only, revision: 1 }, () => undefined).exitCode).toBe(ofTask);
    expect(shown(job, "failed", only).exitCode).toBe(ofJob);
  },
);

const aFailedTask = (job: Job, failure: TaskFailure): Task => ({
  jobId: job.id,
  index: 0,
  attempt: 1,
  state: { kind: "failed", nodeId: undefined, startedAtMs: 1, endedAtMs: 2, failure },
  failures: 1,
  losses: 0,
  past: [],
});

const shown = (job: Job, state: "succeeded" | "failed" | "cancelled" | "expired", only?: Task) => {
  const times = { startedAtMs: 1, lastEndAtMs: 2, usage: undefined };
  const told = { tasksWithProgress: 0, done: 0 };
  return showJob(job, { state, counts: noCounts(), ...times, ...told }, { only, revision: 1 });
};

test("a task without an ended process has no exit code", () => {
  expect(shown(aJob(), "succeeded").exitCode).toBe(0);
  expect(shown(aJob(), "cancelled")).not.toHaveProperty("exitCode");
  expect(shown(aJob(), "expired")).not.toHaveProperty("exitCode");
  expect(shown(aJob("0-9"), "cancelled")).not.toHaveProperty("exitCode");
  expect(shown(aJob("0-9"), "failed").exitCode).toBe(1);
});

test("the reason of a memory limit names the limit and a remedy", () => {
  const failure = { kind: "out-of-memory", limitBytes: 32 * MIB } as const;
  const job = aJob();
  const only = aFailedTask(job, failure);
  expect(showTask(job, 0, { row: only, revision: 1 }, () => undefined)).toMatchObject({
    state: "failed",
    signal: "SIGKILL",
    reason: "used more than its memory of 32MiB; ask for more with --memory",
  });
});
