import type { Client } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RainbowBed, simple } from "./testing/rainbow-bed.ts";
import { ShownJobs } from "./shown-jobs.ts";

const bed = new RainbowBed();
let nowMs = 0;
let receivers: readonly Client[] = [];

beforeEach(async () => {
  nowMs = 0;
  await bed.open({}, { visibilityMs: 30_000, nowMs: () => nowMs });
  await bed.register("blue");
  receivers = Array.from({ length: 4 }, () => bed.connect());
});
afterEach(async () => {
  for (const receiver of receivers) receiver.close();
  await bed.close();
});

const shownTo = async (client: Client | undefined, max = 0): Promise<readonly number[]> =>
  Object.keys((await bed.receive("blue", max, client)).jobs).map(Number);

test("several receivers at once receive different jobs, and together all of them", async () => {
  for (let count = 0; count < 20; count++) await bed.submit(simple(1, 1), ["blue"]);
  const shown = await Promise.all(receivers.map((receiver) => shownTo(receiver, 5)));
  expect(shown.map(({ length }) => length)).toEqual([5, 5, 5, 5]);
  expect(new Set(shown.flat()).size).toBe(20);
});

test("receivers that accept at once what they receive never receive the same job", async () => {
  const shown: number[] = [];
  for (let round = 0; round < 10; round++) {
    for (let count = 0; count < 20; count++) await bed.submit(simple(1, 1), ["blue"]);
    const receiveAndAccept = async (receiver: Client): Promise<void> => {
      const jobs = await shownTo(receiver, 20);
      shown.push(...jobs);
      if (jobs.length > 0) await bed.accept("blue", [...jobs], receiver);
    };
    await Promise.all(receivers.map(receiveAndAccept));
  }
  expect(shown.length).toBe(200);
  expect(new Set(shown).size).toBe(200);
});

test("a job is hidden from others until its time is over or it is accepted", async () => {
  for (let count = 0; count < 2; count++) await bed.submit(simple(1, 1), ["blue"]);
  const [first, second] = receivers;
  expect(await shownTo(first)).toEqual([1, 2]);
  expect(await shownTo(second)).toEqual([]);
  expect(await shownTo(first)).toEqual([1, 2]);
  expect(await bed.accept("blue", [1], second)).toBe(2); // a client that knows its number may accept it
  nowMs = 29_999;
  expect(await shownTo(second)).toEqual([]);
  nowMs = 30_000;
  expect(await shownTo(second)).toEqual([2]);
  expect(await shownTo(first)).toEqual([]);
});

test("entries of tasks that are visible again are removed", () => {
  let now = 0;
  const shown = new ShownJobs(10, () => now);
  shown.show(["1"], "a");
  now = 10;
  shown.show(["2"], "a");
  expect([shown.isVisible("1", "b"), shown.isVisible("2", "b")]).toEqual([true, false]);
  shown.reveal(["2"]);
  expect(shown.isVisible("2", "b")).toBe(true);
});
