import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { limits } from "../../limits.ts";
import type { TakeCapacity } from "../../core/model/node/take-capacity.ts";
import type { Seen, TakenRun, TakeRule } from "./room.ts";
import { TAKES_NOTHING } from "../../core/model/node/take-capacity.ts";
import { roomOf } from "./room.ts";

const now: TakeRule = { kind: "now" };
const cpus = (n: number): { readonly cpu: number } => ({ cpu: n * 1_000 });
const run = (needs: TakenRun["needs"], runsSince?: number, endedAt?: number): TakenRun => ({
  needs,
  runsSince,
  endedAt,
});
const seen = (free: Record<string, number>, own?: Record<string, number>) => ({
  free,
  own,
  askedAt: 10,
});

interface Case {
  readonly name: string;
  readonly rule?: TakeRule;
  readonly free: Record<string, number> | undefined;
  readonly own?: Record<string, number>;
  readonly runs: readonly TakenRun[];
  readonly want: TakeCapacity;
}

const cases: readonly Case[] = [
  { name: "nothing is known", free: undefined, runs: [], want: TAKES_NOTHING },
  {
    name: "all that is free",
    free: { cpu: 4_000, memory: 100 },
    runs: [],
    want: { tasks: 4, free: { cpu: 4_000, memory: 100 } },
  },
  {
    name: "what was taken and not heard of is not free",
    free: { cpu: 4_000, memory: 100 },
    runs: [run({ cpu: 3_000, memory: 40 })],
    want: { tasks: 1, free: { cpu: 1_000, memory: 60 } },
  },
  {
    name: "what began before the look was seen",
    free: cpus(4),
    runs: [run(cpus(3), 9)],
    want: { tasks: 4, free: cpus(4) },
  },
  {
    name: "what began after it was not",
    free: cpus(4),
    runs: [run(cpus(3), 11)],
    want: { tasks: 1, free: cpus(1) },
  },
  {
    name: "of what its own runs used then, what they use now is not free, heard of or not",
    free: cpus(1),
    own: cpus(3),
    runs: [run(cpus(1), 9), run(cpus(1)), run(cpus(1), undefined, 12), run(cpus(1), 8, 9)],
    want: { tasks: 2, free: cpus(2) },
  },
  {
    name: "whole nodes are counted as ever",
    free: { cpu: 4_000, nodes: 1 },
    own: cpus(4),
    runs: [run(cpus(3), 9), run({ nodes: 1 }, 9, 12)],
    want: { tasks: 5, free: { cpu: 5_000, nodes: 2 } },
  },
  {
    name: "what was seen and ended since is free again",
    free: cpus(0),
    runs: [run(cpus(3), 9, 12)],
    want: { tasks: 3, free: cpus(3) },
  },
  {
    name: "what ended before the look was seen as free",
    free: cpus(3),
    runs: [run(cpus(3), 5, 9)],
    want: { tasks: 3, free: cpus(3) },
  },
  {
    name: "what came and went since changes nothing",
    free: cpus(3),
    runs: [run(cpus(3), 11, 12), run(cpus(1), undefined, 12)],
    want: { tasks: 3, free: cpus(3) },
  },
  {
    name: "never less than nothing",
    free: { cpu: 1_000, gpu: 0 },
    runs: [run({ cpu: 2_000, gpu: 1 })],
    want: { tasks: 0, free: { cpu: 0, gpu: 0 } },
  },
  {
    name: "a run that names no cpus has one",
    free: cpus(2),
    runs: [run({})],
    want: { tasks: 1, free: cpus(1) },
  },
  {
    name: "whole nodes take their cpus along",
    free: { cpu: 32_000, nodes: 4 },
    runs: [run({ nodes: 3 })],
    want: { tasks: 8, free: { cpu: 8_000, nodes: 1 } },
  },
  {
    name: "a run on some cpus leaves one node less that is free as a whole",
    free: { cpu: 32_000, nodes: 4 },
    runs: [run(cpus(2))],
    want: { tasks: 30, free: { cpu: 30_000, nodes: 3 } },
  },
  {
    name: "a part of a cpu is room for a task that wants no more",
    free: { cpu: 1_500 },
    runs: [],
    want: { tasks: 2, free: { cpu: 1_500 } },
  },
  {
    name: "a queue below: so many may wait, whatever is free",
    rule: { kind: "queue", tasksMax: 5 },
    free: cpus(0),
    runs: [run(cpus(1)), run(cpus(1)), run(cpus(1), 3), run(cpus(1), undefined, 4)],
    want: { tasks: 3, free: {} },
  },
  {
    name: "a full queue",
    rule: { kind: "queue", tasksMax: 1 },
    free: cpus(9),
    runs: [run(cpus(1)), run(cpus(1))],
    want: { tasks: 0, free: {} },
  },
  {
    name: "a queue whose scheduler does not answer",
    rule: { kind: "queue", tasksMax: 5 },
    free: undefined,
    runs: [],
    want: TAKES_NOTHING,
  },
];

describe("free capacity", () => {
  for (const { name, rule = now, free, own, runs, want } of cases) {
    test(name, () => {
      expect(roomOf(rule, free && seen(free, own), runs)).toEqual(want);
    });
  }

  test("is bounded, however much is free", () => {
    const active = Array.from({ length: 5 }, () => run({ cpu: 0 }));
    const most = limits.takenRunsMax - 5;
    expect(roomOf(now, seen(cpus(1_000_000)), active).tasks).toBe(most);
    expect(roomOf({ kind: "queue", tasksMax: 1e9 }, seen({}), active).tasks).toBe(most);
  });

  test("accepted runs never exceed the capacity", () => {
    // A cluster of so many cpus whose agent accepts runs, receives reports and observes at any moment.
    const step = fc.constantFrom("take", "begin", "end", "look");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(step, { maxLength: 40 }),
        (all, steps) => {
          let moment = 1;
          let last: Seen = seen(cpus(all));
          last = { ...last, askedAt: 0 };
          const runs: { needs: { cpu: number }; runsSince?: number; endedAt?: number }[] = [];
          const taken = () =>
            runs.map(({ needs, runsSince, endedAt }) => run(needs, runsSince, endedAt));
          const active = () => runs.filter(({ endedAt }) => endedAt === undefined);
          for (const one of steps) {
            moment += 1;
            if (one === "take" && roomOf(now, last, taken()).tasks > 0)
              runs.push({ needs: cpus(1) });
            const waiting = active().find(({ runsSince }) => runsSince === undefined);
            if (one === "begin" && waiting !== undefined) waiting.runsSince = moment;
            const first = active()[0];
            if (one === "end" && first !== undefined) first.endedAt = moment;
            if (one === "look") {
              const used = active().filter(({ runsSince }) => runsSince !== undefined).length;
              last = { free: cpus(all - used), askedAt: moment };
            }
            expect(active().length).toBeLessThanOrEqual(all);
          }
        },
      ),
    );
  });
});
