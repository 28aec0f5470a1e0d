import { describe, expect, test } from "vitest";
import { aSpec } from "../../tests/support/builders.ts";
import { JSON_LINES, parseLines } from "../../tests/support/read-watch.ts";
import { groupId, jobId, nodeId, revision } from "../core/model/ids.ts";
import type { Job } from "../core/model/job.ts";
import type { Task } from "../core/model/task.ts";
import { afterClosing, freshProgress } from "../core/state/progress.ts";
import type { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Commit, JobSnapshot } from "./open-batch.ts";
import type { WatchQuery } from "./operations.ts";
import type { WatchEventView } from "./views.ts";
import { toWatchFilter, toWatchRevision } from "./watch-filter.ts";
import { WatchHub } from "./watch-hub.ts";

const aJob = (id = 1, group = "default"): Job => ({
  id: jobId(id),
  spec: aSpec({ group }),
  submittedAtMs: 0,
  submittedBy: "",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
});

const submitted = (job: Job): JobSnapshot => ({
  job,
  progress: freshProgress(1),
  only: undefined,
});

const aCommit = (at: number, jobs: readonly Job[] = [aJob()]): Commit => ({
  revision: revision(at),
  changes: jobs.map((row) => ({ table: "job", row })),
  jobs: new Map(jobs.map((job) => [job.id, submitted(job)])),
  loads: new Map(),
  removedFrom: new Map(),
});

const jobs = (count: number): Job[] => Array.from({ length: count }, (_, at) => aJob(at + 1));

/** A hub whose slices run when the test says so. */
function aHub(at = 0, jobOf: (id: number) => Job | undefined = (id) => aJob(id)) {
  const waiting: (() => void)[] = [];
  const hub = new WatchHub(revision(at), {
    source: { jobOf, clusterOf: () => "local" },
    soon: (run) => waiting.push(run),
  });
  const slice = (): boolean => {
    const run = waiting.shift();
    run?.();
    return run !== undefined;
  };
  const settle = (): number => {
    let slices = 0;
    while (slice()) if (slices++ > 100_000) throw new Error("it never settles");
    return slices;
  };
  return { hub, slice, settle };
}

/** `isRead` false: the network takes nothing until `take` is called. */
function aReader(isRead = true) {
  const events: WatchEventView[] = [];
  const untaken: (() => void)[] = [];
  const ends: AppError[] = [];
  const cuts: true[] = [];
  return {
    events,
    ends,
    cuts,
    take: () => untaken.splice(0).forEach((taken) => taken()),
    revisions: () => events.map((event) => event.revision),
    kinds: () => events.map((event) => event.kind),
    sink: {
      send(parts: readonly Buffer[], taken: () => void) {
        events.push(...parseLines(parts));
        if (isRead) taken();
        else untaken.push(taken);
      },
      end: (error: AppError) => void ends.push(error),
      cut: () => void cuts.push(true),
    },
  };
}

const here = { connection: {}, address: undefined };

function watch(hub: WatchHub, query: WatchQuery = {}, reader = aReader(), caller: object = here) {
  const open = hub.open({
    after: toWatchRevision(query.afterRevision),
    filter: toWatchFilter(query),
    format: JSON_LINES,
    sink: reader.sink,
    caller: caller as typeof here,
  });
  return { ...reader, ...open };
}

describe("resume", () => {
  test("a watch goes on after the revision it saw last, without gap or repeat", () => {
    const { hub, settle } = aHub(10);
    for (const at of [11, 12, 13]) hub.publish(aCommit(at));
    const resumed = watch(hub, { afterRevision: 11 });
    hub.publish(aCommit(14));
    settle();
    hub.publish(aCommit(15));
    settle();
    expect(resumed.revisions()).toEqual([11, 12, 13, 14, 15]);
    expect(resumed.kinds()).toEqual(["sync", "job", "job", "job", "job"]);
    resumed.close();
    expect(hub.watchers).toBe(0);
  });

  test("without a revision it starts now", () => {
    const { hub, settle } = aHub(10);
    hub.publish(aCommit(11));
    const { revisions } = watch(hub);
    hub.publish(aCommit(12));
    settle();
    expect(revisions()).toEqual([11, 12]);
  });

  test("too old a revision is refused, as is one from the future", () => {
    const { hub } = aHub(10);
    hub.publish(aCommit(11, jobs(limits.watchHistoryChangesMax)));
    hub.publish(aCommit(12));
    expect(() => watch(hub, { afterRevision: 9 })).toThrow(/no longer kept/);
    expect(() => watch(hub, { afterRevision: 10 })).toThrow(/no longer kept \(only after 11/);
    expect(() => watch(hub, { afterRevision: 11 })).not.toThrow();
    expect(() => watch(hub, { afterRevision: 13 })).toThrow(/has not happened yet/);
  });

  test("the history is bounded in bytes", () => {
    const { hub } = aHub();
    const large = { ...aJob(), spec: aSpec({ script: "x".repeat(1024 * 1024 - 100) }) };
    const cancelled: Job = {
      ...large,
      closed: { kind: "cancelled", atMs: 5, by: "me", reason: "because" },
    };
    const snapshot = {
      ...submitted(cancelled),
      progress: afterClosing(freshProgress(1), cancelled),
    };
    for (let at = 1; at <= 100; at++) {
      hub.publish({ ...aCommit(at), jobs: new Map([[cancelled.id, snapshot]]) });
    }
    expect(hub.costs.historyBytes).toBeLessThanOrEqual(limits.watchHistoryBytesMax);
    expect(() => watch(hub, { afterRevision: 30 })).toThrow(/no longer kept/);
    expect(() => watch(hub, { afterRevision: 50 })).not.toThrow();
  });

  test("commits that left the history are not held", () => {
    const { hub } = aHub();
    const many = jobs(1_000);
    for (let at = 1; at <= 500; at++) hub.publish(aCommit(at, many));
    const kept = limits.watchHistoryChangesMax / many.length;
    expect(hub.costs.historyCommits).toBeGreaterThanOrEqual(kept);
    expect(hub.costs.historyCommits).toBeLessThanOrEqual(2 * kept);
  });

  test("a job is shown as it was submitted, whatever became of it since", () => {
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const now: Job = { ...aJob(), closed };
    const { hub, settle } = aHub(0, () => now);
    const cancelled = { ...submitted(now), progress: afterClosing(freshProgress(1), now) };
    hub.publish(aCommit(1));
    hub.publish({ ...aCommit(2), jobs: new Map([[now.id, cancelled]]) });
    const { events } = watch(hub, { afterRevision: 0 });
    settle();
    const states = events.map((event) => (event.kind === "job" ? event.job.state : event.kind));
    expect(states).toEqual(["sync", "pending", "cancelled"]);
  });

  test("the submission of a removed job is no longer kept", () => {
    const { hub, settle } = aHub(0, (id) => (id === 1 ? undefined : aJob(id)));
    hub.publish(aCommit(1));
    hub.publish(aCommit(2, [aJob(2)]));
    const all = watch(hub, { afterRevision: 0 });
    const other = watch(hub, { afterRevision: 0, jobId: "2" });
    settle();
    expect(all.ends[0]).toMatchObject({ code: "compacted" });
    expect(other.revisions()).toEqual([0, 2]);
  });

  test("a task that one commit moved several times is shown once, as it ended", () => {
    const { hub, settle } = aHub();
    const rows = (["waiting", "assigned"] as const).map((kind): Task => {
      const state =
        kind === "waiting"
          ? ({ kind, notBeforeMs: 1 } as const)
          : ({ kind, nodeId: nodeId("w1"), assignedAtMs: 2 } as const);
      return { jobId: jobId(1), index: 0, attempt: 1, failures: 0, losses: 0, past: [], state };
    });
    const { events } = watch(hub, { kinds: ["task"] });
    hub.publish({ ...aCommit(1), changes: rows.map((row) => ({ table: "task", row })) });
    settle();
    const states = events.map((event) => (event.kind === "task" ? event.task.state : event.kind));
    expect(states).toEqual(["sync", "assigned"]);
  });
});

describe("costs", () => {
  test("an event is rendered once for all watches of a format", () => {
    const { hub, settle } = aHub();
    const watches = Array.from({ length: 50 }, () => watch(hub));
    watches.push(watch(hub, { kinds: ["job"] }), watch(hub, { jobId: "7" }));
    settle();
    hub.publish(aCommit(1, jobs(1_000)));
    settle();
    expect(watches.map(({ events }) => events.length - 1)).toEqual([
      ...Array.from({ length: 51 }, () => 1_000),
      1,
    ]);
    expect(hub.costs.renders).toBe(1_000);
  });

  test("a commit looks only at the watches that it concerns", () => {
    const { hub, settle } = aHub(0, (id) => aJob(id, id === 3 ? "b" : "a"));
    const idle = Array.from({ length: 900 }, (_, at) =>
      watch(hub, { jobId: String(1_000 + at) }, aReader(), { connection: {} }),
    );
    const ofGroup = watch(hub, { group: "b" });
    const ofNodes = watch(hub, { kinds: ["node"] });
    const concerned = watch(hub, { jobId: "2" });
    settle();
    hub.publish(aCommit(1, [aJob(1, "a"), aJob(2, "a")]));
    settle();
    expect(hub.costs).toMatchObject({ looks: 1, renders: 1 });
    expect(concerned.kinds()).toEqual(["sync", "job"]);
    hub.publish(aCommit(2, [aJob(3, "b")]));
    settle();
    expect(hub.costs).toMatchObject({ looks: 2, renders: 2 });
    expect(ofGroup.kinds()).toEqual(["sync", "job"]);
    expect([ofNodes, ...idle].every(({ events }) => events.length === 1)).toBe(true);
  });

  test("a large commit is sent in slices, and every watch gets its share of them", () => {
    const { hub, slice, settle } = aHub();
    const watches = [watch(hub), watch(hub), watch(hub)];
    settle();
    hub.publish(aCommit(1, jobs(10_000)));
    for (let slices = 1; slices <= 10; slices++) {
      slice();
      const perSlice = limits.watchRendersPerSliceMax + limits.watchBlockEventsMax;
      expect(hub.costs.renders).toBeLessThanOrEqual(slices * perSlice);
      const counts = watches.map(({ events }) => events.length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(perSlice);
    }
    settle();
    expect(watches.map(({ events }) => events.length)).toEqual([10_001, 10_001, 10_001]);
  });

  test("nothing rendered stays when everybody has read it", () => {
    const { hub, settle } = aHub();
    watch(hub);
    hub.publish(aCommit(1, jobs(1_000)));
    settle();
    expect(hub.costs).toMatchObject({ renders: 1_000, renderedBytes: 0 });
  });
});

describe("slow readers", () => {
  const bytesOf = (events: readonly WatchEventView[]): number => JSON.stringify(events).length;

  test("one that takes nothing is sent a bounded number of bytes, and more when it reads", () => {
    const { hub, settle } = aHub();
    const slow = watch(hub, {}, aReader(false));
    hub.publish(aCommit(1, jobs(5_000)));
    settle();
    const bound = limits.watchUnsentBytesMax + 2 * limits.watchBlockBytesMax;
    expect(bytesOf(slow.events)).toBeLessThan(bound);
    for (let round = 0; round < 100; round++) {
      slow.take();
      settle();
    }
    expect(slow.events).toHaveLength(5_001);
  });

  test("one that takes nothing between two beats is dropped, with where to resume", () => {
    const { hub, settle } = aHub();
    const slow = watch(hub, {}, aReader(false));
    hub.publish(aCommit(1));
    hub.publish(aCommit(2, jobs(5_000)));
    settle();
    slow.take();
    settle();
    slow.beat();
    slow.take();
    settle();
    slow.beat(); // it has taken something since the last
    expect(slow.ends).toEqual([]);
    expect(slow.beat()).toBe(true);
    expect(slow.ends).toMatchObject([{ code: "exhausted", revision: 1 }]);
    expect(slow.ends[0]?.message).toContain("resume from revision 1");
    expect(hub.watchers).toBe(0);
    const again = watch(hub, { afterRevision: 1 });
    settle();
    expect(again.events).toHaveLength(5_001);
  });

  /** A commit with one event of about 512 KiB. */
  const largeCommit = (at: number): Commit => {
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const job = { ...aJob(at), closed, spec: aSpec({ script: "x".repeat(512 * 1024) }) };
    return { ...aCommit(at), jobs: new Map([[job.id, submitted(job)]]) };
  };
  const ONE_MORE = 2 * 1024 * 1024;

  /** One reader more for each of 80 large commits: the older, the more it holds. */
  function crowd(afterEach: (slow: readonly ReturnType<typeof watch>[]) => void) {
    const { hub, settle } = aHub();
    const readers = [watch(hub), watch(hub)];
    const slow: ReturnType<typeof watch>[] = [];
    for (let at = 1; at <= 80; at++) {
      slow.push(watch(hub, {}, aReader(false)));
      settle();
      hub.publish(largeCommit(at));
      settle();
      afterEach(slow);
      settle();
      expect(hub.costs.renderedBytes).toBeLessThan(limits.watchRenderedBytesMax + ONE_MORE);
    }
    const ended = slow.filter(({ ends }) => ends.length > 0);
    for (const { events, ends } of readers) expect([events.length, ends.length]).toEqual([81, 0]);
    return { slow, ended };
  }

  test("when they hold nearly all there is, the slowest learn where to resume", () => {
    const { slow, ended } = crowd((all) => {
      for (const { ends, take } of all) if (ends.length > 0) take();
    });
    expect(ended.length).toBeGreaterThan(10);
    expect(ended).toEqual(slow.slice(0, ended.length)); // who waited longest
    for (const [at, { events, ends, cuts }] of ended.entries()) {
      expect(ends).toMatchObject([{ code: "exhausted" }]);
      // Not behind what it was sent, or it would miss something.
      const { revision: resume = -1, message } = ends[0] as AppError;
      const sent = events.at(-1)?.revision ?? -1;
      expect([sent - 1, sent]).toContain(resume);
      expect(message).toContain(`memory for events is used up; resume from revision ${resume}`);
      expect([at, cuts]).toEqual([at, []]);
    }
  });

  test("one that does not read why it was ended is cut off when all memory is held", () => {
    const { ended } = crowd((all) => {
      for (const { cuts, take } of all) if (cuts.length > 0) take();
    });
    const cut = ended.filter(({ cuts }) => cuts.length > 0);
    expect(cut.length).toBeGreaterThan(10);
    for (const { cuts } of cut) expect(cuts).toHaveLength(1);
  });

  test("one that falls behind the history has to list again", () => {
    const { hub, settle } = aHub();
    const slow = watch(hub, {}, aReader(false));
    hub.publish(aCommit(1, jobs(20_000)));
    settle();
    for (let at = 2; at <= 7; at++) hub.publish(aCommit(at, jobs(20_000)));
    slow.take();
    settle();
    expect(slow.ends[0]).toMatchObject({ code: "compacted", revision: undefined });
  });
});

describe("bookmarks", () => {
  test("an idle watch learns how far it is, and only when that is news", () => {
    const { hub, settle } = aHub(5);
    const idle = watch(hub, { jobId: "99" });
    settle();
    expect(idle.beat()).toBe(false);
    for (let at = 6; at <= 50; at++) hub.publish(aCommit(at));
    settle();
    expect(idle.beat()).toBe(true);
    expect(idle.beat()).toBe(false);
    expect(idle.events.slice(1)).toEqual([{ kind: "bookmark", revision: 50 }]);
  });

  test("a bookmark never overtakes an event", () => {
    const { hub, settle } = aHub();
    const reader = watch(hub);
    settle();
    hub.publish(aCommit(1));
    expect(reader.beat()).toBe(false);
    settle();
    expect(reader.beat()).toBe(true);
    expect(reader.kinds()).toEqual(["sync", "job", "bookmark"]);
  });

  test("an idle watch is never behind, however much it does not concern happens", () => {
    const { hub, settle } = aHub();
    const idle = watch(hub, { jobId: "99" });
    settle();
    for (let at = 1; at <= 7; at++) hub.publish(aCommit(at, jobs(20_000).slice(100)));
    hub.publish(aCommit(8, [aJob(99)]));
    settle();
    expect([idle.kinds(), idle.ends]).toEqual([["sync", "job"], []]);
  });
});

describe("limits and ends", () => {
  const open = (hub: WatchHub, count: number, caller: () => object, query = {}): void => {
    for (let at = 0; at < count; at++) watch(hub, query, aReader(), caller());
  };

  test("one connection, one address and all together have a limit each", () => {
    const { hub } = aHub();
    const connection = {};
    open(hub, limits.watchesPerConnectionMax, () => ({ connection, address: "a" }));
    expect(() => open(hub, 1, () => ({ connection, address: "a" }))).toThrow(/on one connection/);
    const left = limits.watchesPerAddressMax - limits.watchesOfOneJobReserve;
    open(hub, left - limits.watchesPerConnectionMax, () => ({ connection: {}, address: "a" }));
    const more = () => ({ connection: {}, address: "a" });
    expect(() => open(hub, 1, more)).toThrow(/from one address/);
    expect(() => open(hub, 1, more, { jobId: "1" })).not.toThrow();
    let at = 0;
    const others = () => ({ connection: {}, address: `b${at++}` });
    open(hub, limits.watchesMax - limits.watchesOfOneJobReserve - left - 1, others);
    expect(() => open(hub, 1, others)).toThrow(/on this server/);
    open(hub, limits.watchesOfOneJobReserve, others, { jobId: "1" });
    expect(() => open(hub, 1, others, { jobId: "1" })).toThrow(/on this server/);
    expect(hub.watchers).toBe(limits.watchesMax);
  });

  test("a place that was given back can be taken again", () => {
    const { hub } = aHub();
    const watches = Array.from({ length: limits.watchesPerConnectionMax }, () => watch(hub));
    expect(() => watch(hub)).toThrow(/on one connection/);
    watches[0]?.close();
    watches[0]?.close();
    watch(hub);
    expect(() => watch(hub)).toThrow(/on one connection/);
  });

  test("closing ends every watch with a reason and where to resume", () => {
    const { hub, settle } = aHub();
    const { ends } = watch(hub, { group: "g" });
    settle();
    hub.publish(aCommit(1));
    hub.close();
    expect(ends).toMatchObject([{ code: "unavailable", revision: 1 }]);
    expect(() => watch(hub)).toThrow(/stopping/);
  });

  test("a removed job is an event of its group and of no other", () => {
    const { hub, settle } = aHub();
    const [ours, others] = [watch(hub, { group: "a" }), watch(hub, { group: "b" })];
    settle();
    hub.publish({
      ...aCommit(1, []),
      changes: [{ table: "job", removed: jobId(1), indexes: [] }],
      removedFrom: new Map([[jobId(1), groupId("a")]]),
    });
    settle();
    expect([ours.kinds(), others.kinds()]).toEqual([["sync", "removed"], ["sync"]]);
  });
});
