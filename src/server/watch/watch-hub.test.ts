import { describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { freshGroup } from "../../core/model/group.ts";
import { groupId, jobId, nodeId } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Task } from "../../core/model/job/task.ts";
import { afterClosing, freshProgress } from "../../core/model/progress.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { WatchHub } from "./watch-hub.ts";
import { aCommit, aHub, aJob, aReader, jobs, submitted, watch } from "../testing/watch-hub.ts";

describe("resume", () => {
  test("a watch resumes after the revision it saw last, without gap or repeat", () => {
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

  test("a revision that is too old is rejected, as is one from the future", () => {
    const { hub } = aHub(10);
    hub.publish(aCommit(11, jobs(limits.watchHistoryChangesMax)));
    hub.publish(aCommit(12));
    expect(() => watch(hub, { afterRevision: 9 })).toThrow(/expired/);
    expect(() => watch(hub, { afterRevision: 10 })).toThrow(/expired .*after 11/);
    expect(() => watch(hub, { afterRevision: 11 })).not.toThrow();
    expect(() => watch(hub, { afterRevision: 13 })).toThrow(/has not happened yet/);
  });

  describe("the history is bounded in bytes", () => {
    const large = { ...aJob(), spec: aSpec({ script: "x".repeat(1024 * 1024 - 100) }) };
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const cancelled: Job = { ...large, closed };
    const progress = afterClosing(freshProgress(cancelled.spec), cancelled);
    const { watchHistoryBytesKept, watchHistoryBytesMax } = limits;
    const publish = (hub: WatchHub, at: number): void => {
      const snapshot = { ...submitted(cancelled, at), progress };
      hub.publish({ ...aCommit(at), jobs: new Map([[cancelled.id, snapshot]]) });
    };

    test("for watches that resume", () => {
      const { hub } = aHub();
      for (let at = 1; at <= 100; at++) publish(hub, at);
      expect(hub.costs.historyBytes).toBeLessThanOrEqual(watchHistoryBytesKept);
      expect(() => watch(hub, { afterRevision: 75 })).toThrow(/expired/);
      expect(() => watch(hub, { afterRevision: 85 })).not.toThrow();
    });

    test("more is retained while a watch has not read it", () => {
      const { hub, settle } = aHub();
      const reader = watch(hub);
      for (let at = 1; at <= 60; at++) publish(hub, at);
      expect(hub.costs.historyBytes).toBeGreaterThan(watchHistoryBytesKept);
      settle();
      expect(reader.ends).toEqual([]);
      expect(reader.revisions()).toEqual(Array.from({ length: 61 }, (_, at) => at));
      reader.close();
      publish(hub, 61);
      expect(hub.costs.historyBytes).toBeLessThanOrEqual(watchHistoryBytesKept);
    });

    test("no more is retained for watches that have read all but the latest", () => {
      const { hub, slice, settle } = aHub();
      const reader = watch(hub);
      settle();
      for (let at = 1; at <= 60; at++) {
        publish(hub, at); // from here on one more is unread
        expect(hub.costs.historyBytes).toBeLessThanOrEqual(watchHistoryBytesKept);
        slice();
      }
      settle();
      expect(reader.revisions()).toHaveLength(61);
    });

    test("and never beyond the limit, although a watch has not read it", () => {
      const { hub, settle } = aHub();
      const { ends } = watch(hub);
      for (let at = 1; at <= 70; at++) publish(hub, at);
      expect(hub.costs.historyBytes).toBeLessThanOrEqual(watchHistoryBytesMax);
      settle();
      expect(ends.map(({ code }) => code)).toEqual(["compacted"]);
    });
  });

  test("commits that left the history are not retained", () => {
    const { hub } = aHub();
    const many = jobs(1_000);
    for (let at = 1; at <= 500; at++) hub.publish(aCommit(at, many));
    const kept = limits.watchHistoryChangesMax / many.length;
    expect(hub.costs.historyCommits).toBeGreaterThanOrEqual(kept);
    expect(hub.costs.historyCommits).toBeLessThanOrEqual(2 * kept);
  });

  test("a watch that its door ends has the revision to resume from", () => {
    const { hub, settle } = aHub(10);
    const { ends, ...open } = watch(hub);
    hub.publish(aCommit(11));
    settle();
    open.end(new AppError("unavailable", "the server is stopping"));
    expect(ends).toMatchObject([{ code: "unavailable", revision: 11 }]);
    expect(hub.watchers).toBe(0);
  });

  test("a job is shown as it was submitted, whatever its state is now", () => {
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const now: Job = { ...aJob(), closed };
    const { hub, settle } = aHub(0, () => now);
    const progress = afterClosing(freshProgress(now.spec), now);
    const cancelled = { ...submitted(now, 2), progress };
    hub.publish(aCommit(1));
    hub.publish({ ...aCommit(2), jobs: new Map([[now.id, cancelled]]) });
    const { events } = watch(hub, { afterRevision: 0 });
    settle();
    const states = events.map((event) => (event.kind === "job" ? event.job.state : event.kind));
    expect(states).toEqual(["sync", "pending", "cancelled"]);
  });

  test("the submission of a removed job is no longer retained", () => {
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
    const changes = rows.map((row) => ({ table: "task", row }) as const);
    hub.publish({ ...aCommit(1), changes, hasReplaced: true });
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

  test("a commit checks only the watches that it concerns", () => {
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

  test("a watch can request each kind by itself, and other tables are no events", () => {
    const { hub, settle } = aHub();
    const kinds = ["job", "task", "node", "group"] as const;
    const watches = kinds.map((kind) => watch(hub, { kinds: [kind] }));
    const all = watch(hub);
    settle();
    const commit = aCommit(1);
    const counter = { table: "counter", row: { lastJobId: jobId(1) } } as const;
    const removed = [
      { table: "group", removed: groupId("g") },
      { table: "node", removed: nodeId("w") },
    ] as const;
    const group = { table: "group", row: freshGroup(groupId("h")) } as const;
    const state = { kind: "assigned", nodeId: nodeId("n"), assignedAtMs: 0 } as const;
    const task = { jobId: jobId(1), index: 0, attempt: 1, state, failures: 0, losses: 0, past: [] };
    const row = { table: "task", row: task } as const;
    hub.publish({ ...commit, changes: [...commit.changes, counter, ...removed, group, row] });
    settle();
    const seen = watches.map(({ kinds: told }) => told().slice(1).join());
    expect(seen).toEqual(["job", "task", "removed", "removed,group"]);
    expect(all.kinds()).toEqual(["sync", "removed", "removed", "group", "task", "job"]);
    hub.publish({ ...aCommit(2, []), changes: [counter] });
    settle();
    expect(all.events.length).toBe(6);
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

  test("no rendered bytes are retained when all readers have read them", () => {
    const { hub, settle } = aHub();
    watch(hub);
    hub.publish(aCommit(1, jobs(1_000)));
    settle();
    expect(hub.costs).toMatchObject({ renders: 1_000, renderedBytes: 0 });
  });
});
