import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { areApart } from "./capacity.ts";
import { compileRequest } from "./compile-request.ts";
import type { Graph } from "../graph.ts";
import { parseGraph } from "../jgf.ts";
import { layOut } from "../layout.ts";
import { allocate, match } from "./match.ts";
import type { ResourceRequest } from "../request/request.ts";
import { parseSubsystem, type Subsystem } from "../subsystems/subsystem.ts";
import { type Branch, documentOf } from "../testing/documents.ts";
import { requireOne, want } from "../testing/requests.ts";
import { slowFits, slowSlots, TooSlow, type World } from "../testing/slow-match.ts";
import { Use } from "./use.ts";
import { verifyAllocation } from "./verify.ts";
import { explainRefusal } from "./explain.ts";
import { runs } from "../../../testing/runs.ts";

const leaf = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Branch>({ type: "core" }) },
  fc.constantFrom<Branch>(
    { type: "core", size: 3 },
    { type: "core", size: 0 },
    { type: "gpu" },
    { type: "gpu", size: 2 },
    { type: "core", inside: [{ type: "pu" }, { type: "pu" }] },
  ),
);
const few = <T>(item: fc.Arbitrary<T>, maxLength: number) => fc.array(item, { maxLength });
const some = <T>(item: fc.Arbitrary<T>, maxLength: number) =>
  fc.array(item, { minLength: 2, maxLength });
const socket = some(leaf, 3).map((inside): Branch => ({ type: "socket", inside }));
const nodePart = fc.oneof({ weight: 2, arbitrary: leaf }, socket);
const node = fc
  .tuple(some(nodePart, 4), fc.constantFrom(1, 1, 1, 2))
  .map(([inside, size]): Branch => ({ type: "node", size, inside }));
const rackPart = fc.oneof({ weight: 5, arbitrary: node }, leaf);
const rack = some(rackPart, 3).map((inside): Branch => ({ type: "rack", inside }));
const odd = fc.constantFrom<Branch>(
  { type: "license", size: 2 },
  { type: "node", inside: [{ type: "node", inside: [{ type: "core" }] }, { type: "core" }] },
);
const cluster = some(
  fc.oneof({ weight: 4, arbitrary: node }, { weight: 2, arbitrary: rack }, odd, leaf),
  4,
).map((inside): Branch => ({ type: "cluster", inside }));

const os = fc.constantFrom(null, null, null, null, null, null, "a", "b");
const isYes = fc.constantFrom(true, false, false, false, false, false);

/** Any tree of requests, mostly with larger types above smaller ones. */
const asked = (level: number): fc.Arbitrary<ResourceRequest> => {
  const types = ["rack", "node", "node", "socket", "core", "core", "gpu", "slot", "pu", "license"];
  return fc
    .tuple(
      fc.constantFrom(...types.slice(level)),
      fc.constantFrom(1, 1, 1, 2, 3),
      level > 4 ? fc.constant([]) : few(asked(level + 3), 2),
      os,
      isYes,
    )
    .map(([type, count, inside, wanted, isExclusive]) => {
      const isSmall = ["core", "gpu", "pu", "license"].includes(type) && count < 3;
      const isPlace = type === "slot" && inside.length > 0;
      return want(count, type === "slot" && !isPlace ? "core" : type, isSmall ? [] : inside, {
        isSlot: isPlace,
        isExclusive,
        requires: wanted === null ? [] : [requireOne("os", "type", wanted)],
      });
    });
};
/** Typical requests: levels in their order, with different types at each. */
const chain = fc
  .tuple(
    fc.constantFrom(["node"], [], ["node"], ["socket"], ["node", "socket"], ["rack", "node"]),
    fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 3, maxLength: 3 }),
    fc.subarray(["core", "gpu"], { minLength: 1 }),
    os,
    isYes,
    isYes,
  )
  .map(([levels, counts, leaves, wanted, isExclusive, isSlot]) => {
    const requires = wanted === null ? [] : [requireOne("os", "type", wanted)];
    let inside = leaves.map((type, at) => want(counts[at] ?? 1, type));
    if (isSlot) inside = [want(counts[2] ?? 1, "slot", inside, { isSlot: true })];
    levels.toReversed().forEach((type, at) => {
      inside = [want(counts[at] ?? 1, type, inside, { requires, isExclusive })];
    });
    return inside;
  });
const anyTrees = fc.oneof(
  chain,
  fc.tuple(chain, chain).map(([one, other]) => [...one, ...other]),
  fc.array(asked(0), { minLength: 1, maxLength: 2 }),
  fc.array(asked(1), { minLength: 1, maxLength: 3 }),
  fc.tuple(some(asked(3), 3)).map(([inside]) => [want(1, "node", inside)]),
);

interface Case {
  readonly world: World;
  readonly trees: readonly ResourceRequest[];
}

const anyCase: fc.Arbitrary<Case> = fc
  .tuple(
    cluster,
    anyTrees,
    fc.array(fc.tuple(fc.nat(), fc.nat(1)), { minLength: 2, maxLength: 8 }),
    few(fc.nat(), 4),
    fc.boolean(),
  )
  .map(([branch, trees, links, used, isUsed]) => {
    const graph = parseGraph(documentOf(branch));
    const subsystems = linked(graph, links);
    const taken = new Map<number, number>();
    for (const dice of isUsed ? used : []) {
      const vertex = dice % graph.ids.length;
      const { size = 0 } = graph.kinds[graph.kindOf[vertex] ?? -1] ?? {};
      if (size > 0) taken.set(vertex, 1 + (dice % size));
    }
    return { world: { graph, subsystems, taken }, trees };
  });

function linked(graph: Graph, links: readonly (readonly [number, number])[]) {
  const nodes = { os1: { metadata: { type: "a" } }, os2: { metadata: { type: "b" } } };
  const edges = links.map(([vertex, target]) => ({
    source: graph.ids[vertex % graph.ids.length],
    target: target === 0 ? "os1" : "os2",
    relation: "contains",
  }));
  const subsystem = parseSubsystem("os", { graph: { nodes, edges } }, graph);
  return new Map<string, Subsystem>([["os", subsystem]]);
}

const useOf = ({ graph, taken }: World): Use => {
  const use = new Use(graph);
  for (const [vertex, amount] of taken) use.take(vertex, amount);
  return use;
};

/** undefined: the brute-force search would take too long. */
const slowly = <T>(act: () => T): T | undefined => {
  try {
    return act();
  } catch (error) {
    if (error instanceof TooSlow) return undefined;
    throw error;
  }
};

describe("the matcher against a brute-force search", () => {
  const counts = { exact: 0, exactYes: 0, other: 0, otherYes: 0, otherMissed: 0, slotsSeen: 0 };

  test(
    "agrees where it is exact, and never accepts a request that does not fit",
    { timeout: 120_000 },
    () => {
      fc.assert(
        fc.property(anyCase, ({ world, trees }) => {
          const layout = layOut(world.graph, world.subsystems);
          const request = compileRequest([trees]);
          const use = useOf(world);
          const before = [...use.entries()];
          const { fits } = match(layout, request, use);
          const slow = slowly(() => slowFits(world, trees));
          if (slow === undefined) return;
          const isExact = areApart(layout, request.alternatives[0]?.trees ?? []);
          counts[isExact ? "exact" : "other"] += 1;
          if (slow) counts[isExact ? "exactYes" : "otherYes"] += 1;
          if (isExact) expect(fits).toBe(slow);
          else if (fits) expect(slow).toBe(true);
          else if (slow) counts.otherMissed += 1;

          const { allocation } = allocate(layout, request, use);
          expect(allocation !== undefined).toBe(fits);
          expect([...use.entries()]).toEqual(before);
          if (allocation === undefined) {
            expect(explainRefusal(layout, request, use)).toHaveLength(1);
            return;
          }
          expect(verifyAllocation({ ...world, use }, request, allocation)).toBeUndefined();
          use.add(allocation);
          expect(use.isEmpty).toBe(false);
          use.remove(allocation);
          expect(new Map(use.entries())).toEqual(new Map(before));
        }),
        { numRuns: runs(4_000) },
      );
      // Both answers must occur often, or the test shows nothing.
      expect(counts.exactYes).toBeGreaterThan(runs(300));
      expect(counts.exact - counts.exactYes).toBeGreaterThan(runs(300));
      expect(counts.otherYes).toBeGreaterThan(runs(100));
      expect(counts.other - counts.otherYes).toBeGreaterThan(runs(100));
      expect(counts.otherMissed).toBeLessThan(counts.otherYes / 20);
    },
  );

  test("counts the same number of slots", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(anyCase, ({ world, trees: [tree] }) => {
        if (tree === undefined) return;
        const slot = { ...tree, isSlot: true };
        const layout = layOut(world.graph, world.subsystems);
        const request = compileRequest([[slot]]);
        const slow = slowly(() => slowSlots(world, slot));
        if (slow === undefined) return;
        const { slots = 0 } = match(layout, request, useOf(world));
        if (slow > 0) counts.slotsSeen += 1;
        if (areApart(layout, request.alternatives[0]?.trees ?? [])) expect(slots).toBe(slow);
        else expect(slots).toBeLessThanOrEqual(slow);
      }),
      { numRuns: 1_500 },
    );
    expect(counts.slotsSeen).toBeGreaterThan(300);
  });
});

test("the order of a request's parts and requirements does not matter where it is exact", () => {
  const reversed = (tree: ResourceRequest): ResourceRequest => ({
    ...tree,
    requires: tree.requires.toReversed(),
    with: tree.with.toReversed().map(reversed),
  });
  fc.assert(
    fc.property(anyCase, ({ world, trees }) => {
      const layout = layOut(world.graph, world.subsystems);
      const one = compileRequest([trees]);
      if (!areApart(layout, one.alternatives[0]?.trees ?? [])) return;
      const other = compileRequest([trees.toReversed().map(reversed)]);
      expect(match(layout, other, useOf(world)).fits).toBe(match(layout, one, useOf(world)).fits);
    }),
    { numRuns: runs(1_000) },
  );
});
