import { expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { limits } from "../../limits.ts";
import { aCommit, aHub, aJob, aReader, jobs, watch } from "../testing/watch-hub.ts";

const packed = (isRead = true) => aReader(isRead, true);
const watchMany = (count: number, open: () => ReturnType<typeof watch>) =>
  Array.from({ length: count }, open);

test("a block is compressed once, however many readers receive it", () => {
  const costs = [1, 40].map((readers) => {
    const { hub, settle } = aHub();
    const watches = watchMany(readers, () => watch(hub, {}, packed()));
    settle();
    hub.publish(aCommit(1, jobs(3_000)));
    settle();
    for (const { events } of watches) expect(events).toHaveLength(3_001);
    return hub.costs;
  });
  expect(costs[1]).toEqual({ ...costs[0], looks: 40 });
  expect(costs[0]?.packs).toBeLessThan(3_000 / limits.watchBlockEventsMax);
});

test("compressed and plain readers, filtered or not, get the same events and share their rendering", () => {
  const { hub, settle } = aHub(0, (id) => aJob(id, id % 3 === 0 ? "b" : "a"));
  const many = Array.from({ length: 2_000 }, (_, at) =>
    aJob(at + 1, (at + 1) % 3 === 0 ? "b" : "a"),
  );
  const queries = [{}, { group: "b" }, { jobId: "1500" }, { kinds: ["node"] as const }];
  const pairs = queries.map((query) => [
    watch(hub, query),
    watch(hub, query, packed()),
    watch(hub, query, packed()),
  ]);
  settle();
  hub.publish(aCommit(1, many));
  hub.publish(aCommit(2, [aJob(1_500)]));
  settle();
  for (const [plain, ...others] of pairs) {
    for (const { events } of others) expect(events).toEqual(plain?.events);
  }
  expect(pairs.map(([plain]) => plain?.events.length)).toEqual([2_002, 667 + 1, 3, 1]);
  expect(hub.costs.renders).toBe(2_001);
});

test("a reader that joins in the middle begins with the next block, and misses nothing", () => {
  const { hub, slice, settle } = aHub();
  const first = watch(hub, {}, packed());
  settle();
  hub.publish(aCommit(1, jobs(5_000)));
  slice();
  expect(first.events.length).toBeLessThan(5_000);
  const second = watch(hub, { afterRevision: 0 }, packed());
  slice();
  const third = watch(hub, {}, packed());
  hub.publish(aCommit(2));
  settle();
  expect(second.events).toEqual(first.events);
  expect(third.revisions()).toEqual([1, 2]);
});

test("the compressed bytes of a reader that reads nothing are counted", () => {
  // Different texts, so that even compressed they exceed the limit of one reader.
  const digits = (at: number): string[] =>
    Array.from({ length: 20 }, (_, nth) => String(Math.sin(at * 20 + nth)));
  const many = Array.from({ length: 4_000 }, (_, at) => ({
    ...aJob(at + 1),
    spec: aSpec({ command: digits(at) }),
  }));
  const { hub, settle } = aHub(0, (id) => many[id - 1]);
  const reader = watch(hub, {}, packed(false));
  hub.publish(aCommit(4_000, many, true));
  settle();
  const block = limits.watchBlockBytesMax;
  expect(reader.sentBytes()).toBeGreaterThan(limits.watchUnsentBytesMax - block);
  expect(reader.sentBytes()).toBeLessThan(limits.watchUnsentBytesMax + 2 * block);
  const events = reader.events.length;
  expect(JSON.stringify(reader.events).length).toBeGreaterThan(2 * limits.watchUnsentBytesMax);
  reader.take();
  settle();
  expect(reader.events.length).toBeGreaterThan(events);
  reader.beat();
  reader.beat();
  const last = reader.events.at(-1)?.revision ?? 0;
  expect(reader.ends).toMatchObject([{ code: "exhausted", revision: last }]);
  const again = watch(hub, { afterRevision: last }, packed());
  settle();
  expect([...reader.revisions(), ...again.revisions().slice(1)]).toEqual(
    Array.from({ length: 4_001 }, (_, at) => at),
  );
});

test("one slice renders and compresses a bounded amount, even where everything is rendered already", () => {
  const { hub, slice } = aHub();
  hub.publish(aCommit(1, jobs(5_000)));
  const [plain, reader] = [aReader(), packed()].map((each) =>
    watch(hub, { afterRevision: 0 }, each),
  );
  let before = hub.costs;
  let slices = 0;
  while (slice()) {
    slices++;
    const { renders, packs } = hub.costs;
    expect(renders - before.renders).toBeLessThanOrEqual(
      limits.watchRendersPerSliceMax + limits.watchBlockEventsMax,
    );
    const perRun = limits.watchRunBytesMax / limits.watchPackedBytesPerSliceMax;
    expect((packs - before.packs) * perRun).toBeLessThanOrEqual(2);
    before = hub.costs;
  }
  expect(slices).toBeGreaterThanOrEqual(5_000 / (2 * limits.watchRendersPerSliceMax));
  expect(reader?.events).toHaveLength(5_001);
  expect(reader?.events).toEqual(plain?.events);
});

test("no compressed bytes are retained when all readers have read them", () => {
  const { hub, settle } = aHub();
  watch(hub, {}, packed());
  hub.publish(aCommit(1, jobs(1_000)));
  settle();
  expect(hub.costs).toMatchObject({ renders: 1_000, renderedBytes: 0 });
});
