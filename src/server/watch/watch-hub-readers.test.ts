import { describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { groupId, jobId } from "../../core/model/ids.ts";
import type { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Commit } from "../loop/open-batch.ts";
import type { WatchEventView } from "../views/views.ts";
import type { FollowedEvent } from "./watch-format.ts";
import type { WatchHub } from "./watch-hub.ts";
import { aCommit, aHub, aJob, aReader, jobs, submitted, watch } from "../testing/watch-hub.ts";

describe("slow readers", () => {
  const bytesOf = (events: readonly WatchEventView[]): number => JSON.stringify(events).length;

  test("the hub sends a reader that reads nothing a bounded number of bytes, and more when it reads", () => {
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

  test("a reader that reads nothing between two beats is dropped, with the revision to resume from", () => {
    const { hub, settle } = aHub();
    const slow = watch(hub, {}, aReader(false));
    hub.publish(aCommit(1));
    hub.publish(aCommit(5_001, jobs(5_000), true));
    settle();
    slow.take();
    settle();
    slow.beat();
    slow.take();
    settle();
    slow.beat(); // it has read something since the last beat
    expect(slow.ends).toEqual([]);
    expect(slow.beat()).toBe(true);
    const last = slow.events.at(-1)?.revision ?? 0;
    expect(last).toBeGreaterThan(1);
    expect(last).toBeLessThan(5_001);
    expect(slow.ends).toMatchObject([{ code: "exhausted", revision: last }]);
    expect(slow.ends[0]?.message).toContain(`resume from revision ${last}`);
    expect(hub.watchers).toBe(0);
    const again = watch(hub, { afterRevision: last });
    settle();
    expect([...slow.revisions(), ...again.revisions().slice(1)]).toEqual(
      Array.from({ length: 5_002 }, (_, at) => at),
    );
  });

  /** A commit with one event of about 512 KiB. */
  const largeCommit = (at: number): Commit => {
    const closed = { kind: "cancelled", atMs: 5, by: "me", reason: "because" } as const;
    const job = { ...aJob(at), closed, spec: aSpec({ script: "x".repeat(512 * 1024) }) };
    return { ...aCommit(at), jobs: new Map([[job.id, submitted(job, at)]]) };
  };
  const ONE_MORE = 2 * 1024 * 1024;

  /** One more reader for each of 80 large commits: the older ones hold more. */
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

  test("when they hold nearly all memory, the slowest are ended with the revision to resume from", () => {
    const { slow, ended } = crowd((all) => {
      for (const { ends, take } of all) if (ends.length > 0) take();
    });
    expect(ended.length).toBeGreaterThan(10);
    expect(ended).toEqual(slow.slice(0, ended.length)); // those that have waited longest
    for (const [at, { events, ends, cuts }] of ended.entries()) {
      expect(ends).toMatchObject([{ code: "exhausted" }]);
      // Exactly after the last event that it was sent.
      const { revision: resume = -1, message } = ends[0] as AppError;
      expect(resume).toBe(events.at(-1)?.revision);
      expect(message).toContain(`memory for events is used up; resume from revision ${resume}`);
      expect([at, cuts]).toEqual([at, []]);
    }
  });

  test("an ended reader that does not read the reason is cut off when all memory is held", () => {
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
  test("an idle watch receives a bookmark, and only when its revision is new", () => {
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

  test("an idle watch is never behind, however many events do not concern it", () => {
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

  test("a freed place can be used again", () => {
    const { hub } = aHub();
    const watches = Array.from({ length: limits.watchesPerConnectionMax }, () => watch(hub));
    expect(() => watch(hub)).toThrow(/on one connection/);
    watches[0]?.close();
    watches[0]?.close();
    watch(hub);
    expect(() => watch(hub)).toThrow(/on one connection/);
  });

  test("closing ends every watch with a reason and the revision to resume from", () => {
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

test("a follower receives every event before any watch, from its start to its end", () => {
  const { hub, settle } = aHub(10);
  hub.publish(aCommit(11));
  const heard: number[] = [];
  const following = hub.follow(({ revision }) => void heard.push(revision));
  const reader = watch(hub);
  hub.publish(aCommit(12, jobs(3)));
  expect(heard).toEqual([12, 12, 12]);
  expect(following.revision).toBe(12);
  expect(reader.events).toEqual([]);
  settle();
  following.close();
  hub.publish(aCommit(13));
  expect(heard).toHaveLength(3);
});

test("a follower receives the id of a job and whether it ended, and can render it like watches", () => {
  const { hub, settle } = aHub();
  const heard: FollowedEvent[] = [];
  hub.follow((event) => void heard.push(event));
  const reader = watch(hub);
  settle();
  hub.publish(aCommit(1, [aJob(7)]));
  settle();
  expect(heard).toMatchObject([{ kind: "job", id: jobId(7), isEnded: false, revision: 1 }]);
  const shown = reader.events.find((event) => event.kind === "job");
  const [told] = heard;
  expect(told?.kind === "job" && told.job).toEqual(shown?.job);
});

describe("followers of a commit with more events than a slice", () => {
  const SLICE = limits.followedEventsPerSliceMax;
  const follow = (hub: WatchHub) => {
    const heard: number[] = [];
    return { heard, following: hub.follow(({ revision }) => void heard.push(revision)) };
  };

  test("receive it in slices, and no watch receives an event before them", async () => {
    const { hub, slice, settle } = aHub(10);
    const { heard, following } = follow(hub);
    const reader = watch(hub);
    settle();
    const count = 5 * SLICE;
    hub.publish(aCommit(11, jobs(count)));
    hub.publish(aCommit(12));
    expect(heard).toHaveLength(2 * SLICE);
    const [resumed, late] = [watch(hub, { afterRevision: 10 }), watch(hub)];
    let isCaughtUp = false;
    const caughtUp = following.caughtUp().then(() => (isCaughtUp = true));
    while (heard.length < 4 * SLICE) expect(slice()).toBe(true);
    await Promise.resolve();
    reader.beat(); // it has sent nothing: no bookmark of unsent events
    expect([isCaughtUp, following.revision]).toEqual([false, 10]);
    expect([reader, resumed, late].map(({ kinds }) => kinds())).toEqual([
      ["sync"],
      ["sync"],
      ["sync"],
    ]);
    settle();
    await caughtUp;
    expect(following.revision).toBe(12);
    for (const one of [reader, resumed]) {
      expect(one.revisions().at(-1)).toBe(12);
      expect(one.kinds()).toHaveLength(1 + count + 1);
    }
    expect(late.revisions()).toEqual([12]);
    hub.publish(aCommit(13));
    settle();
    expect(late.revisions()).toEqual([12, 13]);
  });

  test("may be behind by a bounded number of events", () => {
    const { hub } = aHub(10);
    const { heard } = follow(hub);
    for (let at = 11; at <= 16; at++) hub.publish(aCommit(at, jobs(10_000)));
    expect(60_000 - heard.length).toBeLessThanOrEqual(limits.followedEventsBehindMax);
    expect(heard).toEqual(heard.toSorted((a, b) => a - b));
  });

  test("that leave or join meanwhile receive nothing twice, and block no other", () => {
    const { hub, settle } = aHub(10);
    const first = follow(hub);
    const reader = watch(hub);
    settle();
    hub.publish(aCommit(11, jobs(3 * SLICE)));
    const second = follow(hub);
    expect([first.heard.length, second.heard.length]).toEqual([3 * SLICE, 0]);
    hub.publish(aCommit(12, jobs(3 * SLICE)));
    first.following.close();
    second.following.close();
    settle();
    expect(reader.kinds()).toHaveLength(1 + 6 * SLICE);
    expect(second.heard.length).toBeLessThan(3 * SLICE);
  });
});
