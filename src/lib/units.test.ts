import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  formatBytes,
  formatDuration,
  parseDurationMs,
  parseSizeBytes,
  parseWattSeconds,
} from "./units.ts";

describe("durations", () => {
  const good: readonly [string, number][] = [
    ["0", 0],
    ["250ms", 250],
    ["90s", 90_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["1.5h", 5_400_000],
    ["1.1h", 3_960_000],
    ["2d", 172_800_000],
    ["1m1.5s", 61_500],
  ];
  for (const [text, want] of good) {
    test(`${text} is ${want} ms`, () => expect(parseDurationMs(text, "--x")).toBe(want));
  }
  const bad: readonly [string, RegExp][] = [
    ["", /not a duration/],
    ["90", /has no unit; write it like 90s/],
    ["-5m", /not a duration/],
    ["5 m", /not a duration/],
    ["5M", /not a duration/],
    ["30m1h", /large units to small/],
    ["1s1s", /each once/],
    ["0.1ms", /finer than a millisecond/],
    ["9999999999999d", /too long/],
    ["x".repeat(1_000), /^--x: "x{40}…" is not/],
  ];
  for (const [text, want] of bad) {
    test(`"${text.slice(0, 20)}" is rejected`, () =>
      expect(() => parseDurationMs(text, "--x")).toThrow(want));
  }
  test("a formatted duration parses to the same duration", () => {
    fc.assert(
      fc.property(fc.nat(400 * 86_400_000), (ms) => {
        expect(parseDurationMs(formatDuration(ms), "x")).toBe(ms);
      }),
    );
  });
});

describe("sizes", () => {
  const good: readonly [string, number][] = [
    ["0", 0],
    ["4096", 4_096],
    ["10B", 10],
    ["100kB", 100_000],
    ["100KB", 100_000],
    ["1k", 1_024],
    ["512M", 512 * 1_024 ** 2],
    ["4g", 4 * 1_024 ** 3],
    ["4GiB", 4 * 1_024 ** 3],
    ["1.5G", 1.5 * 1_024 ** 3],
    ["1TB", 1e12],
  ];
  for (const [text, want] of good) {
    test(`${text} is ${want} bytes`, () => expect(parseSizeBytes(text, "--x")).toBe(want));
  }
  const bad: readonly [string, RegExp][] = [
    ["", /not a size/],
    ["-1G", /not a size/],
    ["4Gb", /not a size; write it like 512M, 4GiB/],
    ["4 GiB", /not a size/],
    ["1e9", /not a size/],
    ["1.5", /whole number of bytes/],
    ["99999P", /too large/],
  ];
  for (const [text, want] of bad) {
    test(`"${text}" is rejected`, () => expect(() => parseSizeBytes(text, "--x")).toThrow(want));
  }
  test("formatting never prints 1024 of a unit", () => {
    expect(formatBytes(1_023)).toBe("1023B");
    expect(formatBytes(1_024 ** 3 - 1)).toBe("1GiB");
    expect(formatBytes(1.5 * 1_024 ** 3)).toBe("1.5GiB");
    expect(formatBytes(0)).toBe("0B");
  });
});

describe("energy", () => {
  test.each([
    ["400Ws", 400],
    ["400J", 400],
    ["0", 0],
    ["1.5kWh", 5_400_000],
    ["0.5Wh", 1_800],
    ["2kJ", 2_000],
    ["9007199254740991Ws", Number.MAX_SAFE_INTEGER],
  ])("%s is %d Ws", (text, want) => expect(parseWattSeconds(text, "--x")).toBe(want));

  test.each([
    ["400", /has no unit/],
    ["", /is not an energy/],
    ["-1Ws", /is not an energy/],
    ["4W", /is not an energy/],
    ["0.1Ws", /finer than/],
    ["9007199254740993Ws", /too much/],
  ])("%j is rejected", (text, want) => {
    expect(() => parseWattSeconds(text, "--x")).toThrow(want);
  });
});
