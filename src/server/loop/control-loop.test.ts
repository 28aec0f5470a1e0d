import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { groupId, jobId } from "../../core/model/ids.ts";
import { createPolicy } from "../../core/scheduler/policy.ts";
import { State } from "../../core/state/state.ts";
import { limits } from "../../limits.ts";
import { AppError } from "../../lib/errors.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import type { Commit } from "./open-batch.ts";
import { ControlLoop } from "./control-loop.ts";

/** A loop over a store whose commits the test releases one by one. */
function aLoop() {
  const disk = new MemoryDisk();
  const gates: { open: () => void; fail: (error: Error) => void }[] = [];
  const store = createMemoryStore(disk, {
    beforeCommit: () =>
      new Promise<void>((open, fail) => {
        gates.push({ open, fail });
      }),
  });
  const asked: number[] = [];
  const commits: Commit[] = [];
  const broken: AppError[] = [];
  const loop = new ControlLoop({
    state: new State(),
    store: {
      ...store,
      commit(batch) {
        asked.push(batch.revision);
        return store.commit(batch);
      },
    },
    clock: new FakeClock(),
    logger: silentLogger,
    policy: createPolicy({ policy: "spread" }, () => 0),
    soon: (run) => setImmediate(run),
    onCommit: (commit) => commits.push(commit),
    onBroken: (error) => broken.push(error),
  });
  const submit = (count = 1) =>
    loop.submit({
      kind: "submit-jobs",
      submissions: Array.from({ length: count }, () => ({
        spec: aSpec(),
        idempotencyKey: undefined,
      })),
      by: "test",
      nowMs: 0,
    });
  return { loop, submit, gates, commits, broken, disk, asked };
}

/** Runs everything that is ready to run. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Whether the promise is settled. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const note = (): void => void (isSettled = true);
  promise.then(note, note);
  await settle();
  return isSettled;
}

describe("control loop", () => {
  test("a commit says whether it replaced rows of its own that clients can watch", async () => {
    const { loop, submit, gates, commits } = aLoop();
    const putGroup = (weight: number) =>
      loop.submit({ kind: "put-group", id: groupId("a"), weight, by: "test" });
    const rounds = [() => [submit(), submit()], () => [putGroup(2), putGroup(3)], () => [submit()]];
    for (const round of rounds) {
      const answers = round();
      await settle();
      gates.shift()?.open();
      await Promise.all(answers);
    }
    expect(commits.map(({ hasReplaced }) => hasReplaced)).toEqual([false, true, false]);
  });

  test("nothing leaves before it is durable: no answer, no commit, no read", async () => {
    const { loop, submit, gates, commits, disk } = aLoop();
    const answer = submit();
    await settle();
    const seen = loop.read((state) => state.jobs.size);
    expect(await isDone(answer)).toBe(false);
    expect(await isDone(seen)).toBe(false);
    expect(commits).toEqual([]);
    expect(loop.revision).toBe(0);
    gates[0]?.open();
    expect(await answer).toEqual([{ id: 1, existed: false }]);
    expect(await seen).toBe(1);
    // The job, and the largest issued id: each change has its own revision.
    expect(commits.map(({ revision }) => revision)).toEqual([2]);
    expect(disk.rows.get("job/0000000001")?.revision).toBe(1);
  });

  test("a read that fails because a batch removed the row waits for that batch, too", async () => {
    const { loop, submit, gates } = aLoop();
    const answer = submit();
    await settle();
    const refused = loop.read(() => {
      throw new AppError("not_found", "it was just removed");
    });
    expect(await isDone(refused)).toBe(false);
    gates[0]?.open();
    await expect(refused).rejects.toThrow("it was just removed");
    await answer;
  });

  test("a read of a growing batch waits for all changes up to the last one so far", async () => {
    const { loop, submit, gates, commits } = aLoop();
    const look = () => loop.read((state, at) => ({ jobs: state.jobs.size, at }));
    const answers = [submit()];
    await settle(); // a batch is being flushed
    answers.push(submit());
    await settle(); // the second is open
    const seen = look();
    answers.push(submit());
    await settle(); // and grows after it was read
    for (const at of [0, 1]) {
      gates[at]?.open();
      await settle();
    }
    await Promise.all(answers);
    expect(await seen).toEqual({ jobs: 2, at: 4 });
    expect(commits.map(({ jobs }) => [...jobs.keys()])).toEqual([[1], [2, 3]]);
    expect(commits.at(-1)?.revisions).toEqual([3, 4, 5, 6]);
    expect(await look()).toEqual({ jobs: 3, at: 6 });
  });

  test("small commands that arrive during a commit are decided and form one batch", async () => {
    const { submit, gates, commits, asked } = aLoop();
    const first = submit();
    await settle();
    const rest = [submit(), submit()];
    await settle();
    rest.push(submit());
    await settle();
    expect(asked).toEqual([2]);
    gates[0]?.open();
    await first;
    await settle();
    expect(asked).toEqual([2, 8]);
    expect(await isDone(rest[0] as Promise<unknown>)).toBe(false);
    gates[1]?.open();
    expect((await Promise.all(rest)).flat().map(({ id }) => id)).toEqual([2, 3, 4]);
    expect(commits.map(({ before, revision }) => [before, revision])).toEqual([
      [0, 2],
      [2, 8],
    ]);
  });

  test("a large batch does not wait for the one before, and two are in flight at most", async () => {
    const { submit, gates, asked } = aLoop();
    const many = limits.changesInFlightMin;
    const answers = [submit()];
    await settle();
    for (const count of [many - 2, 1, many]) {
      answers.push(submit(count));
      await settle();
      // The first of them is too small by one change; with the next one the batch is large enough.
      expect(asked.length).toBe(count === many - 2 ? 1 : 2);
    }
    for (const at of [0, 1, 2]) {
      gates[at]?.open();
      await settle();
    }
    expect(asked.length).toBe(3);
    await Promise.all(answers);
  });

  test("a rejected command does not stop the queue", async () => {
    const { loop, submit, gates } = aLoop();
    const refused = loop.submit({
      kind: "cancel-job",
      jobId: jobId(9),
      index: undefined,
      reason: "",
      by: "test",
      nowMs: 0,
    });
    const good = submit();
    await expect(refused).rejects.toMatchObject({ code: "not_found" });
    await settle();
    gates[0]?.open();
    expect((await good)[0]?.id).toBe(1);
  });

  test("a submission and its placement are one commit", async () => {
    const { loop, submit, gates, commits } = aLoop();
    const connected = loop.submit({ kind: "connect-node", ...aHello("w1") });
    await settle();
    gates[0]?.open();
    await connected;
    const answer = submit();
    await settle();
    gates[1]?.open();
    await answer;
    expect(commits[1]?.changes.map(({ table }) => table)).toEqual(["job", "counter", "task"]);
  });

  test("a failed flush breaks the loop: every waiting and later call fails, no event is published", async () => {
    const { loop, submit, gates, commits, broken } = aLoop();
    const first = submit();
    await settle();
    const second = submit();
    const seen = loop.read((state) => state.jobs.size);
    await settle();
    gates[0]?.fail(new Error("disk full"));
    await expect(first).rejects.toMatchObject({ code: "unavailable" });
    await expect(second).rejects.toMatchObject({ code: "unavailable" });
    await expect(seen).rejects.toMatchObject({ code: "unavailable" });
    await expect(submit()).rejects.toMatchObject({ code: "unavailable" });
    await expect(loop.read(() => 1)).rejects.toMatchObject({ code: "unavailable" });
    expect(commits).toEqual([]);
    expect(broken.length).toBe(1);
  });

  test("stop finishes queued commands and accepts no more", async () => {
    const { loop, submit, gates } = aLoop();
    const first = submit();
    const stopped = loop.stop();
    await expect(submit()).rejects.toMatchObject({ code: "unavailable" });
    expect(await isDone(stopped)).toBe(false);
    gates[0]?.open();
    expect((await first)[0]?.id).toBe(1);
    await stopped;
  });

  test("stops although all queued commands are rejected", async () => {
    const { loop, gates } = aLoop();
    const refused = loop.submit({ kind: "remove-group", id: groupId("none"), by: "t" });
    refused.catch(() => undefined);
    await loop.stop();
    await expect(refused).rejects.toThrow("none");
    expect(gates).toEqual([]);
  });
});
