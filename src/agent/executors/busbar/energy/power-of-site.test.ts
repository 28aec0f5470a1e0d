import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { checkPower } from "../../../../core/model/node/power.ts";
import { limits } from "../../../../limits.ts";
import { powerOfSite, sharesAtOnce } from "./power-of-site.ts";
import { anEdge } from "./testing/an-edge.ts";

const IDLE = { active: 0, waiting: 0 };

describe("the edges of a site as one node", () => {
  const free = anEdge(20);
  const busy = anEdge(30, { shares: 1 });
  test.each([
    ["no nodes", [], IDLE, { watts: 0, edges: 0, shares: 1 }],
    ["all that are free", [free, anEdge(5), busy], IDLE, { watts: 25, edges: 3, shares: 1 }],
    [
      "nodes without power do not count",
      [free, { ...free, power: undefined }],
      IDLE,
      { watts: 20 },
    ],
    ["one without power now", [anEdge(0), free], IDLE, { watts: 20, edges: 1 }],
    [
      "one that is drained and idle",
      [free, anEdge(9, {}, "drained")],
      IDLE,
      { watts: 20, edges: 1 },
    ],
    ["none has power now", [anEdge(0)], IDLE, { watts: 0, edges: 0 }],
    ["an older Busbar below", [anEdge(20, { sharesMax: 0 })], IDLE, { watts: 20, shares: 1 }],
    ["all are busy: others go first", [busy], IDLE, { watts: 1, edges: 1, shares: 1 }],
    [
      "while its share waits: all, and no other",
      [busy, free],
      { active: 1, waiting: 1 },
      { watts: 50, shares: 1 },
    ],
    [
      "its share left some free",
      [busy, free, free],
      { active: 1, waiting: 0 },
      { watts: 40, shares: 2 },
    ],
    [
      "two left many free: twice as many",
      [free, free, free],
      { active: 2, waiting: 0 },
      { watts: 60, shares: 4 },
    ],
    [
      "no more than edges are free",
      [busy, free],
      { active: 3, waiting: 0 },
      { watts: 20, shares: 4 },
    ],
    ["full: the power of all", [busy, busy], { active: 2, waiting: 0 }, { watts: 60, shares: 2 }],
    [
      "one that is away with a share",
      [anEdge(7, { shares: 1 }, "lost")],
      { active: 1, waiting: 0 },
      { watts: 7, shares: 1 },
    ],
    [
      "a site below it with places left",
      [anEdge(40, { shares: 2, sharesMax: 3 })],
      IDLE,
      { watts: 40 },
    ],
  ] as const)("%s", (_, nodes, shares, want) => {
    const { watts, site } = powerOfSite(nodes, shares);
    expect({ watts, ...site }).toMatchObject(want);
  });

  test("expects the sum of its edges' expected power, and has the slowest of their ticks", () => {
    const change = (atMs: number, watts: number) => ({ atMs: BigInt(atMs), watts: BigInt(watts) });
    const { changes, tickMs, isBare } = powerOfSite(
      [
        anEdge(10, { changes: [change(100, 20), change(300, 0)], tickMs: 60_000 }),
        anEdge(5, { changes: [change(100, 1), change(200, 5)], needsNoCommand: true }),
      ],
      IDLE,
    );
    expect(changes).toEqual([
      { atMs: 100, watts: 21 },
      { atMs: 200, watts: 25 },
      { atMs: 300, watts: 5 },
    ]);
    expect({ tickMs, isBare }).toEqual({ tickMs: 60_000, isBare: true });
  });

  test("offers, of each resource, the amount of its largest edge", () => {
    const [one, two] = [
      { cpu: 2, memory: 4_096 },
      { cpu: 1.5, gpu: 1 },
    ];
    const edges = [
      { ...anEdge(1), capacity: one },
      { ...anEdge(0), capacity: two },
    ];
    const machine = { ...anEdge(1), power: undefined, capacity: { cpu: 64 } };
    const capacity = { cpu: 2_000, memory: 4_096, gpu: 1 };
    expect(powerOfSite([...edges, machine], IDLE).site?.capacity).toEqual(capacity);
  });

  const edge = fc.record({
    watts: fc.nat(limits.wattsMax),
    shares: fc.nat(2),
    state: fc.constantFrom("connected", "drained", "lost"),
    at: fc.nat(9),
    later: fc.nat(limits.wattsMax),
  });
  const counts = fc.record({ active: fc.nat(1_500), waiting: fc.nat(3) });
  test("the server always accepts the reported power, which allows more shares only where an edge is free", () => {
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 40 }), counts, (all, shares) => {
        const nodes = all.map(({ watts, shares: own, state, at, later }) => {
          const changes = [{ atMs: BigInt(at), watts: BigInt(later) }];
          return anEdge(watts, { shares: own, changes }, state);
        });
        const power = powerOfSite(nodes, shares);
        checkPower(power, "power");
        const told = power.site?.shares ?? 0;
        const free = nodes.filter(
          ({ state, power: own }) => state === "connected" && own?.shares === 0 && own.watts > 0n,
        );
        if (told > Math.max(1, shares.active)) {
          expect(free.length).toBeGreaterThanOrEqual(told - shares.active);
          expect(shares.waiting).toBe(0);
        }
      }),
    );
  });

  test("all of thousands of edges have shares after a few steps", () => {
    let active = 0;
    let steps = 0;
    while (active < limits.siteSharesMax) {
      active = sharesAtOnce(5_000 - active, { active, waiting: 0 });
      steps += 1;
    }
    expect(steps).toBeLessThanOrEqual(11);
  });
});
