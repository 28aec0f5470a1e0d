import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { checkPower, offeredToOne, withPower } from "../node/power.ts";
import { fromResources } from "../resources.ts";
import {
  BARE_SHARE_RESOURCE,
  type EnergyInput,
  partOf,
  SHARE_RESOURCE,
  toEnergy,
} from "./energy.ts";
import { type JobSpecInput, toJobSpec } from "./job-spec.ts";

const MOST = Number.MAX_SAFE_INTEGER;

describe("energy of a job", () => {
  test.each<[EnergyInput, number, number]>([
    [{ wattSeconds: 400 }, 25, 400],
    [{ wattSeconds: 3 }, 1, 3],
    [{ wattSeconds: 0 }, 1, 1],
    [{ wattSeconds: 400, greatestShare: 10 }, 10, 10],
    [{ wattSeconds: 400, leastShare: 100 }, 100, 400],
    [{ wattSeconds: 400, leastShare: 100, greatestShare: 100 }, 100, 100],
    [{ wattSeconds: MOST }, Math.ceil(MOST / 16), MOST],
  ])("%j has shares of %d to %d", (input, leastShare, greatestShare) => {
    const split = "earliest";
    const { wattSeconds } = input;
    expect(toEnergy(input)).toEqual({ wattSeconds, leastShare, greatestShare, split });
  });

  test.each<[EnergyInput, string, RegExp]>([
    [{ wattSeconds: -1 }, "energy.wattSeconds", /from 0/],
    [{ wattSeconds: 1.5 }, "energy.wattSeconds", /whole/],
    [{ wattSeconds: MOST + 1 }, "energy.wattSeconds", /whole/],
    [{ wattSeconds: 400, leastShare: 0 }, "energy.leastShare", /from 1 to 400/],
    [{ wattSeconds: 400, leastShare: 401 }, "energy.leastShare", /from 1 to 400/],
    [{ wattSeconds: 9, leastShare: 5, greatestShare: 4 }, "energy.leastShare", /from 1 to 4/],
    [{ wattSeconds: 400, greatestShare: 0 }, "energy.greatestShare", /from 1/],
    [{ wattSeconds: 10 ** 9, greatestShare: 1 }, "energy.greatestShare", /at least 10000 /],
    [{ wattSeconds: 400, split: "random" }, "energy.split", /earliest, fewest, spread/],
  ])("%j is rejected for %s", (input, field, message) => {
    expect(() => toEnergy(input)).toThrow(expect.objectContaining({ field }));
    expect(() => toEnergy(input)).toThrow(message);
  });

  test.each<[Partial<JobSpecInput>, string]>([
    [{ array: "0-3" }, "array"],
    [{ request: [[{ type: "core" }]] }, "request"],
    [{ select: { strategy: "first" } }, "select"],
    [{ placement: { kind: "pulling" } }, "placement.kind"],
    [{ command: undefined, jobspec: "version: 1" }, "jobspec"],
    [{ resources: { [SHARE_RESOURCE]: 1 } }, `resources.${SHARE_RESOURCE}`],
  ])("with %j is rejected for %s", (others, field) => {
    const input = { command: ["true"], energy: { wattSeconds: 4 }, ...others };
    expect(() => toJobSpec(input)).toThrow(expect.objectContaining({ field }));
  });

  test("a share takes one share resource, and without a command also the one for bare shares", () => {
    const energy = { wattSeconds: 4 };
    const [run, bare] = [toJobSpec({ command: ["true"], energy }), toJobSpec({ energy })];
    expect(run.needs).toEqual({ cpu: 1_000, [SHARE_RESOURCE]: 1 });
    expect(bare.needs).toEqual({ [SHARE_RESOURCE]: 1, [BARE_SHARE_RESOURCE]: 1 });
    expect(toJobSpec({ energy: { wattSeconds: 5 } }).needs).toBe(bare.needs);
    expect(fromResources(run.needs)).toEqual({ cpu: 1 });
    expect(bare.name).toBe("energy");
    expect(() => toJobSpec({})).toThrow("must name a program");
  });

  test("a part of a share is never more than was done, and all of it at the end", () => {
    fc.assert(
      fc.property(fc.nat({ max: MOST }), fc.nat({ max: 10_000 }), (share, hundredths) => {
        const exact = (BigInt(share) * BigInt(hundredths)) / 10_000n;
        expect(BigInt(partOf(share, hundredths))).toBe(exact);
      }),
    );
  });
});

describe("power of a node", () => {
  test.each([
    [{ watts: -1 }, "power.watts"],
    [{ watts: 2 ** 32 }, "power.watts"],
    [{ watts: 1, greatestShare: 0 }, "power.greatestShare"],
    [{ watts: 1, tickMs: 0 }, "power.tickMs"],
    [{ watts: 1, tickMs: limits.powerTickMsMax + 1 }, "power.tickMs"],
    [{ watts: 1, site: { edges: -1, shares: 1, capacity: {} } }, "power.site.edges"],
    [{ watts: 1, site: { edges: 1, shares: 0, capacity: {} } }, "power.site.shares"],
    [
      { watts: 1, site: { edges: 1, shares: limits.siteSharesMax + 1, capacity: {} } },
      "power.site.shares",
    ],
    [
      { watts: 1, site: { edges: 1, shares: 1, capacity: { cpu: 0.5 } } },
      "power.site.capacity.cpu",
    ],
    [{ watts: 1, site: { edges: 1, shares: 1, capacity: { "a b": 1 } } }, "power.site.capacity"],
    [{ watts: 1, changes: [{ atMs: 5, watts: 0.5 }] }, "power.changes[0].watts"],
    [{ watts: 1, changes: [5, 4].map((atMs) => ({ atMs, watts: 1 })) }, "power.changes[1].atMs"],
    [
      {
        watts: 1,
        changes: Array.from({ length: limits.powerChangesMax + 1 }, () => ({ atMs: 5, watts: 1 })),
      },
      "power.changes",
    ],
  ])("%j is rejected", (power, field) => {
    expect(() => checkPower(power, "power")).toThrow(expect.objectContaining({ field }));
  });

  test("adds one share resource, which callers cannot set", () => {
    expect(withPower({ cpu: 1 }, { watts: 5 })).toEqual({ cpu: 1, [SHARE_RESOURCE]: 1 });
    const bare = { cpu: 1, [SHARE_RESOURCE]: 1, [BARE_SHARE_RESOURCE]: 1 };
    expect(withPower({ cpu: 1 }, { watts: 5, isBare: true })).toEqual(bare);
    expect(withPower({ cpu: 1, [SHARE_RESOURCE]: 9 }, undefined)).toEqual({ cpu: 1 });
  });

  test("of a site adds as many as it accepts shares, each with the offer of one edge", () => {
    const capacity = { cpu: 4_000, [SHARE_RESOURCE]: 9 };
    const power = { watts: 5, isBare: true, site: { edges: 7, shares: 3, capacity } } as const;
    const all = { cpu: 12_000, [SHARE_RESOURCE]: 3, [BARE_SHARE_RESOURCE]: 3 };
    expect(withPower({ cpu: 99 }, power)).toEqual(all);
    const one = { cpu: 4_000, [SHARE_RESOURCE]: 1, [BARE_SHARE_RESOURCE]: 1 };
    expect(offeredToOne({ capacity: all, power })).toEqual(one);
    expect(offeredToOne({ capacity: { cpu: 1 } })).toEqual({ cpu: 1 });
  });
});
