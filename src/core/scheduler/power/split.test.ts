import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EnergyTerms } from "../../model/job/energy.ts";
import { SPLITS } from "../../model/job/energy.ts";
import { type PowerEdge, endOfShare, energyUntil } from "./edge-energy.ts";
import { sharesOfOneKind } from "./choose-shares.ts";
import { type SplitShare, splitEnergy } from "./split.ts";

const NOW = 1_000_000;
const MOST = Number.MAX_SAFE_INTEGER;

const watts = fc.nat({ max: 50 });
const anEdge: fc.Arbitrary<PowerEdge> = fc
  .record(
    {
      watts,
      changes: fc.array(
        fc.record({ atMs: fc.nat({ max: 200_000 }).map((ms) => NOW + ms), watts }),
        {
          maxLength: 3,
        },
      ),
      greatestShare: fc.integer({ min: 1, max: 3_000 }),
      tickMs: fc.integer({ min: 1, max: 120_000 }),
    },
    { requiredKeys: ["watts"] },
  )
  .map((edge) => ({ ...edge, changes: edge.changes?.toSorted((a, b) => a.atMs - b.atMs) }));

const terms = (energyMax: number, splits: readonly EnergyTerms["split"][] = SPLITS) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: energyMax }),
      fc.integer({ min: 1, max: energyMax }),
      fc.integer({ min: 1, max: energyMax }),
      fc.constantFrom(...splits),
    )
    .map(([wattSeconds, a, b, split]): EnergyTerms => {
      const greatestShare = Math.min(wattSeconds, Math.max(a, b));
      return { wattSeconds, leastShare: Math.min(a, b, greatestShare), greatestShare, split };
    });

const anAsk = fc.tuple(
  fc.oneof(terms(30), terms(3_000), terms(MOST)),
  fc.array(anEdge, { maxLength: 8 }),
  fc.integer({ min: 1, max: 10 }),
);

const splitNow = (
  energy: EnergyTerms,
  edges: readonly PowerEdge[],
  sharesMax = 256,
): SplitShare<PowerEdge>[] =>
  splitEnergy(energy.wattSeconds, energy, edges, { nowMs: NOW, sharesMax });

const sumOf = (shares: readonly SplitShare<PowerEdge>[]): bigint =>
  shares.reduce((sum, { wattSeconds }) => sum + BigInt(wattSeconds), 0n);

const endOf = (shares: readonly SplitShare<PowerEdge>[]): number =>
  Math.max(NOW, ...shares.map(({ edge, wattSeconds }) => endOfShare(edge, NOW, wattSeconds)));

/** The most that each edge with power may take. */
const mostsOf = (
  { wattSeconds, greatestShare }: EnergyTerms,
  edges: readonly PowerEdge[],
): number[] =>
  edges
    .filter((edge) => edge.watts > 0)
    .map((edge) => Math.min(greatestShare, wattSeconds, edge.greatestShare ?? wattSeconds));

const leastFor = (energy: EnergyTerms, edges: readonly PowerEdge[]): number =>
  Math.min(energy.leastShare, energy.wattSeconds, Math.max(0, ...mostsOf(energy, edges)));

/** Why the shares are not a valid split of the energy; undefined: they are. */
function wrongIn(
  energy: EnergyTerms,
  edges: readonly PowerEdge[],
  shares: readonly SplitShare<PowerEdge>[],
  sharesMax = 256,
): string | undefined {
  const { wattSeconds, greatestShare } = energy;
  const least = leastFor(energy, edges);
  const left = BigInt(wattSeconds) - sumOf(shares);
  if (left < 0n) return "more than there is";
  if (new Set(shares.map(({ edge }) => edge)).size < shares.length) return "an edge got two";
  if (shares.length > sharesMax) return "too many";
  for (const share of shares) {
    const most = Math.min(greatestShare, share.edge.greatestShare ?? wattSeconds);
    if (!Number.isSafeInteger(share.wattSeconds)) return "not exact";
    if (share.edge.watts === 0) return "an edge without power got one";
    if (share.wattSeconds < least) return "too small";
    if (share.wattSeconds > most) return "too large";
  }
  return undefined;
}

describe("energy is split", () => {
  test("into shares that add up, for any terms and any free edges", () => {
    fc.assert(
      fc.property(anAsk, ([energy, edges, sharesMax]) => {
        const shares = splitNow(energy, edges, sharesMax);
        expect(wrongIn(energy, edges, shares, sharesMax)).toBeUndefined();
        expect(shares.length > 0).toBe(mostsOf(energy, edges).length > 0);
      }),
      { numRuns: 2_000 },
    );
  });

  test("completely where the edges may take all of it, and otherwise without a remainder below the least share", () => {
    fc.assert(
      fc.property(fc.tuple(terms(3_000), fc.array(anEdge, { maxLength: 8 })), ([energy, edges]) => {
        const shares = splitNow(energy, edges);
        const { wattSeconds } = energy;
        const least = leastFor(energy, edges);
        const mosts = mostsOf(energy, edges)
          .filter((most) => most >= least)
          .sort((a, b) => b - a)
          .slice(0, Math.max(1, Math.floor(wattSeconds / least)));
        const total = mosts.reduce((sum, most) => sum + most, 0);
        const left = wattSeconds - Number(sumOf(shares));
        const lastsForever = endOf(shares) === Number.POSITIVE_INFINITY;
        if (total >= wattSeconds && !lastsForever && energy.split !== "spread") {
          // Edges that lose their power for good may not be able to use all of it.
          const can = mosts.length > 0 && edges.every((edge) => edge.changes === undefined);
          if (can) expect(left).toBe(0);
        }
        const spare = Number(sumOf(shares)) - shares.length * least;
        if (left > 0 && shares.length > 0) expect(left >= least || spare < least - left).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

test("of equal edges, no more need to be looked at than could get a share", () => {
  const kinds = fc.array(fc.tuple(anEdge, fc.integer({ min: 1, max: 12 })), { maxLength: 4 });
  fc.assert(
    fc.property(terms(300), kinds, fc.integer({ min: 1, max: 10 }), (energy, some, sharesMax) => {
      const asked = { energy: energy.wattSeconds, terms: energy, sharesMax };
      const copies = (most: (edge: PowerEdge, count: number) => number): PowerEdge[] =>
        some.flatMap(([edge, count]) =>
          Array.from({ length: most(edge, count) }, () => ({ ...edge })),
        );
      const all = splitNow(
        energy,
        copies((_, count) => count),
        sharesMax,
      );
      const few = splitNow(
        energy,
        copies(({ greatestShare }, count) =>
          Math.min(count, sharesOfOneKind(asked, greatestShare)),
        ),
        sharesMax,
      );
      expect(few.length > 0).toBe(all.length > 0);
      // In a round that the edges cannot complete, their limits decide, not the end.
      if (sumOf(all) < BigInt(energy.wattSeconds)) return;
      expect(sumOf(few)).toBe(sumOf(all));
      expect(endOf(few)).toBe(endOf(all));
    }),
    { numRuns: 2_000 },
  );
});

describe("earliest", () => {
  /** All energy on one edge, for each edge that may take it; and equal parts on all edges with power, where that is allowed. */
  function* naive(
    energy: EnergyTerms,
    edges: readonly PowerEdge[],
  ): Generator<SplitShare<PowerEdge>[]> {
    const { wattSeconds } = energy;
    const live = edges.filter((edge) => edge.watts > 0);
    for (const edge of live) yield [{ edge, wattSeconds }];
    const part = Math.floor(wattSeconds / live.length);
    const more = wattSeconds - part * live.length;
    yield live.map((edge, at) => ({ edge, wattSeconds: part + (at < more ? 1 : 0) }));
  }

  test("never ends later than all on one edge, or equal parts on all", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        fc.tuple(
          fc.oneof(terms(100, ["earliest"]), terms(3_000, ["earliest"])),
          fc.array(anEdge, { minLength: 1, maxLength: 8 }),
        ),
        ([energy, edges]) => {
          const own = splitNow(energy, edges);
          for (const other of naive(energy, edges)) {
            const isAllowed = other.length > 0 && wrongIn(energy, edges, other) === undefined;
            if (!isAllowed || endOf(other) === Number.POSITIVE_INFINITY) continue;
            compared++;
            expect(sumOf(own)).toBe(BigInt(energy.wattSeconds));
            expect(endOf(own)).toBeLessThanOrEqual(endOf(other));
          }
        },
      ),
      { numRuns: 2_000 },
    );
    expect(compared).toBeGreaterThan(1_000);
  });

  /** Every way to divide so much energy over the edges. */
  function* allSplits(
    energy: number,
    edges: readonly PowerEdge[],
  ): Generator<SplitShare<PowerEdge>[]> {
    const [edge, ...others] = edges;
    if (edge === undefined) {
      if (energy === 0) yield [];
      return;
    }
    for (let wattSeconds = 0; wattSeconds <= energy; wattSeconds++) {
      for (const rest of allSplits(energy - wattSeconds, others)) {
        yield wattSeconds === 0 ? rest : [{ edge, wattSeconds }, ...rest];
      }
    }
  }

  test("ends no later than any other split", () => {
    fc.assert(
      fc.property(
        fc.tuple(terms(9, ["earliest"]), fc.array(anEdge, { minLength: 1, maxLength: 4 })),
        ([energy, edges]) => {
          let best = Number.POSITIVE_INFINITY;
          for (const other of allSplits(energy.wattSeconds, edges)) {
            if (wrongIn(energy, edges, other) === undefined) best = Math.min(best, endOf(other));
          }
          const own = splitNow(energy, edges);
          if (best === Number.POSITIVE_INFINITY) return;
          expect(sumOf(own)).toBe(BigInt(energy.wattSeconds));
          expect(endOf(own)).toBe(best);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("a weak edge is left out where it would end last", () => {
    const edges = [{ watts: 37 }, { watts: 1 }];
    const shares = splitNow(
      { wattSeconds: 370, leastShare: 50, greatestShare: 370, split: "earliest" },
      edges,
    );
    expect(shares).toEqual([{ edge: edges[0], wattSeconds: 370 }]);
  });

  test("an edge that works in ticks gets all that it can use in one tick", () => {
    const edges = Array.from({ length: 10 }, () => ({ watts: 18, tickMs: 60_000 }));
    const split = (wattSeconds: number): number[] =>
      splitNow(
        { wattSeconds, leastShare: 25, greatestShare: wattSeconds, split: "earliest" },
        edges,
      ).map((share) => share.wattSeconds);
    expect(split(400)).toEqual([400]);
    expect(split(2_000)).toEqual([1_080, 920]);
    expect(split(21_600)).toEqual(Array.from({ length: 10 }, () => 2_160));
  });

  test("edges that begin at once are preferred to edges with ticks, where that ends first", () => {
    const slow = { watts: 50, tickMs: 60_000 };
    const weak = { watts: 5 };
    const split = (wattSeconds: number): SplitShare<PowerEdge>[] =>
      splitNow({ wattSeconds, leastShare: 10, greatestShare: wattSeconds, split: "earliest" }, [
        slow,
        weak,
      ]);
    expect(split(500)).toEqual([{ edge: weak, wattSeconds: 500 }]);
    expect(split(3_600)).toEqual([
      { edge: slow, wattSeconds: 3_000 },
      { edge: weak, wattSeconds: 600 },
    ]);
  });

  test("power that an edge is about to get counts", () => {
    const soon = { watts: 1, changes: [{ atMs: NOW + 1_000, watts: 99 }] };
    const shares = splitNow(
      { wattSeconds: 200, leastShare: 1, greatestShare: 200, split: "earliest" },
      [{ watts: 10 }, soon],
    );
    expect(endOf(shares)).toBeLessThan(NOW + 3_000);
    expect(shares.find(({ edge }) => edge === soon)?.wattSeconds).toBeGreaterThan(150);
  });
});

describe("other splits", () => {
  const edges = [5, 10, 22, 37].map((own) => ({ watts: own }));
  const wattSeconds = 400;

  test("fewest: on as few edges as the greatest share allows, those that end first", () => {
    const split = "fewest";
    const one = splitNow({ wattSeconds, leastShare: 25, greatestShare: 400, split }, edges);
    expect(one).toEqual([{ edge: edges[3], wattSeconds: 400 }]);
    const two = splitNow({ wattSeconds, leastShare: 25, greatestShare: 300, split }, edges);
    expect(two.map(({ edge }) => edge.watts)).toEqual([37, 22]);
  });

  test("spread: equal shares, on as many edges as the least share allows", () => {
    const split = "spread";
    const all = splitNow({ wattSeconds, leastShare: 25, greatestShare: 400, split }, edges);
    expect(all.map((share) => share.wattSeconds)).toEqual([100, 100, 100, 100]);
    const three = splitNow({ wattSeconds, leastShare: 130, greatestShare: 400, split }, edges);
    expect(three.map((share) => share.wattSeconds)).toEqual([133, 133, 134]);
    expect(new Set(three.map(({ edge }) => edge.watts))).toEqual(new Set([37, 22, 10]));
  });

  test("a job larger than its edges may take at once is done in rounds, to the last watt-second", () => {
    fc.assert(
      fc.property(
        fc.tuple(terms(3_000), fc.array(anEdge, { minLength: 1, maxLength: 4 })),
        ([energy, some]) => {
          const isAble = some.some(({ watts: own }) => own > 0);
          let left = isAble ? energy.wattSeconds : 0;
          let rounds = 0;
          while (left > 0) {
            const shares = splitNow({ ...energy, wattSeconds: left }, some);
            expect(shares.length).toBeGreaterThan(0);
            left -= Number(sumOf(shares));
            if (rounds++ > 3_000) throw new Error("it never ends");
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("the energy that an edge can use until a time", () => {
  test("is exact, however large", () => {
    const edge = fc.tuple(
      fc.nat({ max: 2 ** 32 - 1 }),
      fc.array(fc.record({ atMs: fc.nat({ max: 2 ** 40 }), watts: fc.nat({ max: 2 ** 32 - 1 }) })),
      fc.nat({ max: 2 ** 41 }),
    );
    fc.assert(
      fc.property(edge, ([own, some, untilMs]) => {
        const changes = some.toSorted((a, b) => a.atMs - b.atMs).filter(({ atMs }) => atMs > 0);
        let [sum, from, now] = [0n, 0, own];
        for (const { atMs, watts: next } of [...changes, { atMs: untilMs, watts: 0 }]) {
          if (atMs > untilMs) break;
          sum += BigInt(now) * BigInt(atMs - from);
          [from, now] = [atMs, next];
        }
        if (from < untilMs) sum += BigInt(now) * BigInt(untilMs - from);
        const most = BigInt(MOST);
        const want = sum / 1_000n > most ? most : sum / 1_000n;
        expect(BigInt(energyUntil({ watts: own, changes }, 0, untilMs))).toBe(want);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    [{ watts: 10 }, 100, 10_000],
    [{ watts: 3 }, 1, 334],
    [{ watts: 10, changes: [{ atMs: NOW + 1_000, watts: 0 }] }, 11, Number.POSITIVE_INFINITY],
    [{ watts: 10, freeAtMs: NOW + 500 }, 10, 1_500],
    [{ watts: 10, tickMs: 60_000 }, 1, 120_000],
    [{ watts: 10, tickMs: 60_000 }, 600, 120_000],
    [{ watts: 10, tickMs: 60_000 }, 601, 180_000],
    [{ watts: 10, tickMs: 60_000, freeAtMs: NOW + 500 }, 600, 120_500],
    [{ watts: 10, tickMs: 1_000, freeAtMs: Number.POSITIVE_INFINITY }, 1, Number.POSITIVE_INFINITY],
  ])("%j has done %d Ws after %d ms", (edge, wattSeconds, ms) => {
    expect(endOfShare(edge, NOW, wattSeconds)).toBe(NOW + ms);
  });
});
