import { describe, expect, test } from "vitest";
import { aSpec } from "../../tests/support/builders.ts";
import { jobId, revision } from "../core/model/ids.ts";
import type { Job } from "../core/model/job.ts";
import type { Change } from "../core/state/change.ts";
import { afterClosing, freshProgress } from "../core/state/progress.ts";
import { limits } from "../limits.ts";
import type { Commit } from "./open-batch.ts";
import { WatchHub } from "./watch-hub.ts";

const aJob: Job = {
  id: jobId(1),
  spec: aSpec(),
  submittedAtMs: 0,
  submittedBy: "",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
};
const aChange: Change = { table: "job", row: aJob };

const aCommit = (at: number, changes = 1): Commit => ({
  revision: revision(at),
  changes: Array.from({ length: changes }, () => aChange),
  jobs: new Map(),
  loads: new Map(),
});

/** Reads until `count` commits have come. */
async function take(commits: AsyncIterable<Commit>, count: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const commit of commits) {
    seen.push(commit.revision);
    if (seen.length === count) break;
  }
  return seen;
}

const never = new AbortController().signal;
const noJob = (): undefined => undefined;

describe("watch hub", () => {
  test("a watcher resumes after the revision it saw last, without gap or repeat", async () => {
    const hub = new WatchHub(revision(10), noJob);
    for (const at of [11, 12, 13]) hub.publish(aCommit(at));
    const { from, commits } = hub.watch(revision(11), never);
    expect(from).toBe(11);
    hub.publish(aCommit(14));
    expect(await take(commits, 3)).toEqual([12, 13, 14]);
    expect(hub.watchers).toBe(0);
  });

  test("without a revision it starts now", async () => {
    const hub = new WatchHub(revision(10), noJob);
    hub.publish(aCommit(11));
    const { from, commits } = hub.watch(undefined, never);
    hub.publish(aCommit(12));
    expect([from, await take(commits, 1)]).toEqual([11, [12]]);
  });

  test("too old a revision is told so, as is one from the future", () => {
    const hub = new WatchHub(revision(10), noJob);
    hub.publish(aCommit(11, limits.watchHistoryChangesMax));
    hub.publish(aCommit(12));
    expect(() => hub.watch(revision(9), never)).toThrow(/no longer kept/);
    expect(() => hub.watch(revision(10), never)).toThrow(/no longer kept \(only after|only after/);
    expect(() => hub.watch(revision(11), never)).not.toThrow();
    expect(() => hub.watch(revision(13), never)).toThrow(/has not happened yet/);
  });

  test("a watcher that does not read is told so when what it missed is no longer kept", async () => {
    const hub = new WatchHub(revision(0), noJob);
    const { commits } = hub.watch(undefined, never);
    const changes = limits.watchHistoryChangesMax / 10;
    for (let at = 1; at <= 10; at++) hub.publish(aCommit(at, changes));
    const reader = commits[Symbol.asyncIterator]();
    expect((await reader.next()).value?.revision).toBe(1);
    for (let at = 11; at <= 13; at++) hub.publish(aCommit(at, changes));
    await expect(reader.next()).rejects.toMatchObject({
      code: "compacted",
      message: expect.stringContaining("after revision 1 are no longer kept (only after 3)"),
    });
    expect(hub.watchers).toBe(0);
  });

  test("all that is kept can be read again, also after many were dropped", async () => {
    const hub = new WatchHub(revision(0), noJob);
    const many = 5_000;
    const changes = limits.watchHistoryChangesMax / 1_000;
    for (let at = 1; at <= many; at++) hub.publish(aCommit(at, changes));
    const { commits } = hub.watch(revision(many - 1_000), never);
    const seen = await take(commits, 1_000);
    expect([seen[0], seen.at(-1), seen.length]).toEqual([many - 999, many, 1_000]);
  });

  test("an aborted watch ends and is forgotten", async () => {
    const hub = new WatchHub(revision(0), noJob);
    const stop = new AbortController();
    const { commits } = hub.watch(undefined, stop.signal);
    const read = take(commits, 1);
    stop.abort();
    expect(await read).toEqual([]);
    expect(hub.watchers).toBe(0);
  });

  test("closing ends every watch with a reason", async () => {
    const hub = new WatchHub(revision(0), noJob);
    const { commits } = hub.watch(undefined, never);
    const read = take(commits, 1);
    hub.close();
    await expect(read).rejects.toMatchObject({ code: "unavailable" });
    expect(() => hub.watch(undefined, never)).toThrow(/stopping/);
  });

  test("a job is told as it was submitted, whatever became of it since", async () => {
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const now: Job = { ...aJob, closed };
    const hub = new WatchHub(revision(0), (id) => (id === now.id ? now : undefined));
    const submitted = { job: aJob, progress: freshProgress(1), only: undefined };
    const cancelled = { ...submitted, job: now, progress: afterClosing(freshProgress(1), now) };
    hub.publish({ ...aCommit(1), jobs: new Map([[aJob.id, submitted]]) });
    hub.publish({ ...aCommit(2), jobs: new Map([[aJob.id, cancelled]]) });
    const seen: unknown[] = [];
    for await (const { jobs } of hub.watch(revision(0), never).commits) {
      seen.push(...jobs);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual([
      [aJob.id, submitted],
      [aJob.id, cancelled],
    ]);
  });

  test("what a removed job said at its submission is no longer kept", async () => {
    const hub = new WatchHub(revision(0), noJob);
    const submitted = { job: aJob, progress: freshProgress(1), only: undefined };
    hub.publish({ ...aCommit(1), jobs: new Map([[aJob.id, submitted]]) });
    hub.publish(aCommit(2));
    const { commits } = hub.watch(revision(0), never);
    await expect(take(commits, 1)).rejects.toThrow(/no longer kept \(only after 1\)/);
    expect(await take(hub.watch(revision(1), never).commits, 1)).toEqual([2]);
  });

  test("watches are limited", () => {
    const hub = new WatchHub(revision(0), noJob);
    for (let at = 0; at < limits.watchesMax; at++) hub.watch(undefined, never);
    expect(() => hub.watch(undefined, never)).toThrow(/at most/);
  });
});
