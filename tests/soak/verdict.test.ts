import { describe, expect, test } from "vitest";
import type { Minute, Usage } from "./minutes.ts";
import { judge } from "./verdict.ts";

const MIB = 1024 ** 2;
const usage: Usage = {
  rssBytes: 100 * MIB,
  heapBytes: 30 * MIB,
  descriptors: 40,
  threads: 12,
  zombies: 0,
};

/** Ten minutes; `grow` defines how minute n of the server and of the agent differ. */
const soak = (grow: (number: number) => { server?: Partial<Usage>; agent?: Partial<Usage> }) =>
  Array.from({ length: 10 }, (_, at): Minute => {
    const { server, agent } = grow(at + 1);
    return {
      number: at + 1,
      server: { ...usage, ...server },
      agent: { ...usage, ...agent },
      tasksEnded: 100,
      jobsEnded: 50,
      p50Ms: 20,
      p99Ms: 90,
    };
  });

describe("the verdict of a soak", () => {
  test("flat is good, and so is growth in the warm-up only", () => {
    expect(judge(soak(() => ({})))).toEqual([]);
    const warming = soak((n) => ({ server: { rssBytes: Math.min(n, 3) * 60 * MIB } }));
    expect(judge(warming)).toEqual([]);
  });

  test("one minute that stands out is no growth", () => {
    const burst = soak((n) => (n === 7 ? { server: { descriptors: 900, zombies: 0 } } : {}));
    expect(judge(burst)).toEqual([]);
  });

  const cases: readonly [name: string, minutes: Minute[], want: RegExp][] = [
    [
      "memory of the server",
      soak((n) => ({ server: { rssBytes: (100 + n * 8) * MIB } })),
      /server: memory grew/,
    ],
    [
      "heap of the server",
      soak((n) => ({ server: { heapBytes: (30 + n * 5) * MIB } })),
      /server: heap grew/,
    ],
    [
      "memory of the agent",
      soak((n) => ({ agent: { rssBytes: (100 + n * 8) * MIB } })),
      /agent: memory grew/,
    ],
    [
      "descriptors",
      soak((n) => ({ server: { descriptors: 40 + n * 4 } })),
      /server: open descriptors grew/,
    ],
    ["threads", soak((n) => ({ agent: { threads: 12 + n } })), /agent: threads grew/],
    ["zombies", soak((n) => (n === 6 ? { agent: { zombies: 1 } } : {})), /minute 6: 1 zombies/],
  ];
  for (const [name, minutes, want] of cases) {
    test(`growing ${name} are detected`, () => expect(judge(minutes).join("\n")).toMatch(want));
  }

  test("a run that is too short is not called good", () => {
    expect(judge(soak(() => ({})).slice(0, 2))).toHaveLength(1);
  });
});
