import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BulkWindow } from "./bulk-window.ts";

const LIMITS = {
  bytesMin: 4_096,
  bytesStart: 16_384,
  bytesMax: 1_048_576,
  queueMs: 250,
  roundTripMsMax: 30_000,
};

interface Link {
  readonly bytesPerSecond: number;
  readonly roundTripMs: number;
}

/** A sender that always has more to send, over a link that carries bytes one after the other. */
function carry(
  window: BulkWindow,
  { bytesPerSecond, roundTripMs }: Link,
  forMs: number,
  fromMs = 0,
) {
  const returns: { readonly atMs: number; readonly number: number }[] = [];
  let [freeAtMs, carried, waitMsMax] = [fromMs, 0, 0];
  const untilMs = fromMs + forMs;
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 1) {
    while (returns[0] !== undefined && returns[0].atMs <= nowMs) {
      window.returned(returns.shift()?.number ?? 0, nowMs);
    }
    while (window.hasRoom) {
      const bytes = Math.max(1_024, Math.floor(window.bytes / 4));
      freeAtMs = Math.max(freeAtMs, nowMs) + (bytes / bytesPerSecond) * 1_000;
      carried += bytes;
      const number = window.sent(bytes, nowMs);
      if (number !== undefined) returns.push({ atMs: freeAtMs + roundTripMs, number });
    }
    // By then the window must fit.
    if (nowMs - fromMs > forMs / 2) waitMsMax = Math.max(waitMsMax, freeAtMs - nowMs);
  }
  // All marks under way come back before the test continues.
  for (const { atMs, number } of returns) window.returned(number, atMs);
  return { carried, waitMsMax };
}

describe("the window of a link", () => {
  test("keeps any link busy, and small messages wait only briefly", () => {
    const links = fc.record({
      bytesPerSecond: fc.integer({ min: 8_000, max: 700_000 }),
      roundTripMs: fc.integer({ min: 1, max: 800 }),
    });
    fc.assert(
      fc.property(links, (link) => {
        const forMs = 40_000;
        const { carried, waitMsMax } = carry(new BulkWindow(LIMITS), link, forMs);
        const most = (link.bytesPerSecond * forMs) / 1_000;
        expect(carried).toBeGreaterThan(most * 0.6);
        const floorMs = (2 * LIMITS.bytesMin * 1_000) / link.bytesPerSecond;
        expect(waitMsMax).toBeLessThan(link.roundTripMs + 3 * LIMITS.queueMs + floorMs);
      }),
      { numRuns: 200 },
    );
  });

  test("follows a link that becomes slower, and one whose round trip becomes longer", () => {
    const window = new BulkWindow(LIMITS);
    carry(window, { bytesPerSecond: 1_000_000, roundTripMs: 20 }, 10_000);
    const thin = { bytesPerSecond: 32_000, roundTripMs: 20 };
    expect(carry(window, thin, 60_000, 10_000).waitMsMax).toBeLessThan(1_000);
    expect(window.isThin).toBe(true);
    const far = { bytesPerSecond: 32_000, roundTripMs: 1_500 };
    expect(carry(window, far, 120_000, 70_000).carried).toBeGreaterThan(0.5 * 120 * 32_000);
  });

  test("a link as fast as the machine is not thin, and its window is the largest", () => {
    const window = new BulkWindow(LIMITS);
    carry(window, { bytesPerSecond: 500_000_000, roundTripMs: 1 }, 200);
    expect({ bytes: window.bytes, isThin: window.isThin }).toEqual({
      bytes: LIMITS.bytesMax,
      isThin: false,
    });
  });

  test("while the window is full a mark is under way, in whatever order marks come back", () => {
    const steps = fc.array(
      fc.record({ bytes: fc.nat(40_000), back: fc.nat(3), ms: fc.nat(2_000) }),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const window = new BulkWindow(LIMITS);
        const marks: number[] = [];
        let nowMs = 0;
        for (const { bytes, back, ms } of all) {
          nowMs += ms;
          if (window.hasRoom) {
            const number = window.sent(bytes, nowMs);
            if (number !== undefined) marks.push(number);
          } else expect(marks.length).toBeGreaterThan(0);
          for (const number of marks.splice(0, back)) window.returned(number, nowMs);
          expect(window.underWay).toBeGreaterThanOrEqual(0);
          expect(window.bytes).toBeGreaterThanOrEqual(LIMITS.bytesMin);
          expect(window.bytes).toBeLessThanOrEqual(LIMITS.bytesMax);
        }
      }),
    );
  });

  test("an unknown mark, or one that came back before, changes nothing", () => {
    const window = new BulkWindow(LIMITS);
    const number = window.sent(LIMITS.bytesStart, 0) ?? 0;
    window.returned(number + 1, 1);
    expect(window.underWay).toBe(LIMITS.bytesStart);
    window.returned(number, 1);
    window.returned(number, 5_000);
    expect({ underWay: window.underWay, isThin: window.isThin }).toEqual({
      underWay: 0,
      isThin: false,
    });
  });
});
