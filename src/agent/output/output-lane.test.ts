import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PartsSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { ENCODINGS, unpack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import { OutputLane } from "./output-lane.ts";
import { FakeClock } from "../../testing/fake-clock.ts";

function aLane({ bytesPerSecond = Infinity, isOld = false } = {}) {
  const clock = new FakeClock();
  const marks: number[] = [];
  const lane = new OutputLane(clock, bytesPerSecond, (number) => marks.push(number));
  lane.open(isOld ? undefined : create(PartsSchema, { encodings: [...ENCODINGS] }));
  return { clock, marks, lane };
}

/** Readers that always have more; returns the order in which they sent. */
function readers(lane: OutputLane, count: number, bytes: () => number): number[] {
  const sent: number[] = [];
  const next = async (reader: number): Promise<void> => {
    await lane.whenRoom(() => {
      sent.push(reader);
      return bytes();
    });
    if (sent.length < 1_000) await next(reader);
  };
  for (let reader = 0; reader < count; reader++) void next(reader);
  return sent;
}

test("no more than the window is under way until marks return, and readers take turns", async () => {
  const { clock, marks, lane } = aLane();
  const sent = readers(lane, 3, () => 4_096);
  await clock.pass(1_000);
  expect(sent.length).toBe(limits.linkWindowBytes / 4_096);
  for (let round = 0; round < 4; round++) {
    for (const number of marks.splice(0)) lane.markReturned(number);
    await clock.pass(10);
  }
  const counts = [0, 1, 2].map((reader) => sent.filter((one) => one === reader).length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  lane.close();
});

test("an older server has no window", async () => {
  const { clock, marks, lane } = aLane({ isOld: true });
  expect({ takesParts: lane.takesParts, partBytes: lane.partBytes }).toEqual({
    takesParts: false,
    partBytes: limits.outputChunkBytesMax,
  });
  let sent = 0;
  for (let part = 0; part < 100; part++) void lane.whenRoom(() => (sent += 1));
  await clock.pass(1);
  expect({ sent, marks }).toEqual({ sent: 100, marks: [] });
});

for (const isOld of [true, false]) {
  test(`a bandwidth limit holds, with an ${isOld ? "older" : "equal"} server`, async () => {
    const { clock, marks, lane } = aLane({ bytesPerSecond: 10_000, isOld });
    const sent = readers(lane, 5, () => lane.partBytes);
    const { partBytes } = lane;
    expect(partBytes).toBe(2_500);
    for (let atMs = 0; atMs < 10_000; atMs += 10) {
      await clock.pass(10);
      for (const number of marks.splice(0)) lane.markReturned(number);
    }
    expect(sent.length * partBytes).toBeGreaterThan(0.9 * 100_000);
    expect(sent.length * partBytes).toBeLessThan(1.1 * 100_000);
    lane.close();
    expect(clock.timers).toBe(0);
  });
}

test("compresses on thin links only, makes parts larger for it, and does not compress parts that do not shrink", () => {
  const { lane } = aLane();
  const text = Buffer.from("a line of a log\n".repeat(500));
  expect(lane.pack(text).encoding).toBe("");
  const { lane: thin } = aLane({ bytesPerSecond: 10_000 });
  const before = thin.partBytes;
  const { data, encoding } = thin.pack(text);
  expect(data.length).toBeLessThan(text.length / 10);
  expect(Buffer.from(unpack(encoding, data, text.length)).equals(text)).toBe(true);
  expect(thin.partBytes).toBeGreaterThan(before);
  const noise = Buffer.from(Array.from({ length: 999 }, (_, at) => (at * at * 7_919) % 256));
  const short = Buffer.from("x");
  expect(thin.pack(short).encoding).toBe("");
  expect(thin.pack(noise).data.length).toBeLessThanOrEqual(noise.length);
});
