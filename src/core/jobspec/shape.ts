import type { ResourceRequest } from "../graph/request/request.ts";
import { bytesOf } from "./subset.ts";

/** Trees of resources as the start of processes sees them: how many, where, with which amounts. */
export interface Shape {
  /**
   * Copies of the resources of one process. Without a slot: one per node, or one when no node is
   * requested.
   */
  readonly slots: number;
  /** Nodes over which the slots are spread; undefined: any. */
  readonly nodes: number | undefined;
  /** Nodes of one slot; 0: a part of a node. */
  readonly nodesPerSlot: number;
  /** One piece of work that spans nodes: it needs them at the same time. */
  readonly isSpanning: boolean;
  readonly isExclusive: boolean;
  readonly perSlot: ShapeAmounts;
}

/** 0: not requested. */
export interface ShapeAmounts {
  readonly cores: number;
  readonly gpus: number;
  readonly memoryBytes: number;
  /** Memory was requested without a unit, or in an unknown one. */
  readonly isMemoryUnknown: boolean;
  readonly others: Readonly<Record<string, number>>;
}

const NOTHING: ShapeAmounts = {
  cores: 0,
  gpus: 0,
  memoryBytes: 0,
  isMemoryUnknown: false,
  others: {},
};

export function shapeOf(trees: readonly ResourceRequest[]): Shape {
  const [first, ...others] = trees.map(shapeOfTree);
  if (first === undefined) {
    return {
      slots: 1,
      nodes: undefined,
      nodesPerSlot: 0,
      isSpanning: false,
      isExclusive: false,
      perSlot: NOTHING,
    };
  }
  return others.reduce(together, first);
}

/**
 * Trees without a node belong to the process of the tree that has one; otherwise all are separate.
 */
function together(a: Shape, b: Shape): Shape {
  const isExclusive = a.isExclusive || b.isExclusive;
  const isPlain = (shape: Shape): boolean =>
    shape.slots === 1 && shape.nodes === undefined && shape.nodesPerSlot === 0;
  if (isPlain(a) || isPlain(b)) {
    const [main, added] = isPlain(a) ? [b, a] : [a, b];
    return { ...main, isExclusive, perSlot: add(main.perSlot, added.perSlot) };
  }
  const nodes = (shape: Shape): number => shape.nodes ?? shape.slots * shape.nodesPerSlot;
  return {
    slots: a.slots + b.slots,
    nodes: nodes(a) + nodes(b) || undefined,
    nodesPerSlot: 0,
    isSpanning: true,
    isExclusive,
    perSlot: larger(a.perSlot, b.perSlot),
  };
}

function shapeOfTree(tree: ResourceRequest): Shape {
  const path = pathToProcess(tree);
  const isExclusive = someVertex(tree, (each) => each.isExclusive);
  if (path === undefined) {
    return {
      slots: 1,
      nodes: undefined,
      nodesPerSlot: 0,
      isSpanning: false,
      isExclusive,
      perSlot: scale(amountsIn(tree), tree.count),
    };
  }
  const last = path.at(-1) ?? tree;
  const above = path.slice(0, -1);
  const slots = product(path);
  const nodesAbove = above.some(({ type }) => type === "node")
    ? product(above.slice(0, above.findLastIndex(({ type }) => type === "node") + 1))
    : undefined;
  const nodesPerSlot = last.isSlot ? nodesIn(last) : 0;
  return {
    slots,
    nodes: last.isSlot ? nodesAbove : slots,
    nodesPerSlot,
    isSpanning: last.isSlot ? nodesPerSlot > 1 : slots > 1,
    isExclusive,
    perSlot: amountsIn(last),
  };
}

const product = (path: readonly ResourceRequest[]): number =>
  path.reduce((sum, { count }) => sum * count, 1);

const someVertex = (tree: ResourceRequest, isIt: (each: ResourceRequest) => boolean): boolean =>
  isIt(tree) || tree.with.some((each) => someVertex(each, isIt));

/** From the top down to the resources of one process: a slot, or a node when there is no slot. */
export const pathToProcess = (tree: ResourceRequest): readonly ResourceRequest[] | undefined =>
  pathTo(tree, (each) => each.isSlot) ?? pathTo(tree, ({ type }) => type === "node");

/** From the top down to the first vertex for which `isIt` holds. */
function pathTo(
  tree: ResourceRequest,
  isIt: (each: ResourceRequest) => boolean,
): readonly ResourceRequest[] | undefined {
  if (isIt(tree)) return [tree];
  for (const each of tree.with) {
    const rest = pathTo(each, isIt);
    if (rest !== undefined) return [tree, ...rest];
  }
  return undefined;
}

/** The number of nodes that one copy of this vertex is or contains. */
function nodesIn(tree: ResourceRequest): number {
  if (tree.type === "node") return 1;
  return tree.with.reduce((sum, each) => sum + each.count * nodesIn(each), 0);
}

/** The amounts of one copy of this vertex with its descendants. */
const amountsIn = (tree: ResourceRequest): ShapeAmounts =>
  tree.with.reduce((sum, each) => add(sum, scale(amountsIn(each), each.count)), ownAmounts(tree));

/** A vertex with children only says where they are, unless it is itself what a process gets. */
function ownAmounts(tree: ResourceRequest): ShapeAmounts {
  switch (tree.type) {
    case "node":
    case "slot":
      return NOTHING;
    case "core":
      return { ...NOTHING, cores: 1 };
    case "gpu":
      return { ...NOTHING, gpus: 1 };
    case "memory": {
      const bytes = tree.unit === undefined ? undefined : bytesOf(tree.unit);
      return bytes === undefined
        ? { ...NOTHING, isMemoryUnknown: true }
        : { ...NOTHING, memoryBytes: bytes };
    }
    default:
      return tree.with.length > 0 ? NOTHING : { ...NOTHING, others: { [tree.type]: 1 } };
  }
}

const scale = (amounts: ShapeAmounts, times: number): ShapeAmounts => ({
  ...amounts,
  cores: amounts.cores * times,
  gpus: amounts.gpus * times,
  memoryBytes: amounts.memoryBytes * times,
  others: Object.fromEntries(
    Object.entries(amounts.others).map(([name, each]) => [name, each * times]),
  ),
});

const add = (a: ShapeAmounts, b: ShapeAmounts): ShapeAmounts => combine(a, b, (x, y) => x + y);
const larger = (a: ShapeAmounts, b: ShapeAmounts): ShapeAmounts => combine(a, b, Math.max);

function combine(
  a: ShapeAmounts,
  b: ShapeAmounts,
  both: (x: number, y: number) => number,
): ShapeAmounts {
  const names = new Set([...Object.keys(a.others), ...Object.keys(b.others)]);
  // Types are free text: one may be named like a property of Object.prototype.
  const of = (amounts: ShapeAmounts, name: string): number =>
    Object.hasOwn(amounts.others, name) ? (amounts.others[name] ?? 0) : 0;
  return {
    cores: both(a.cores, b.cores),
    gpus: both(a.gpus, b.gpus),
    memoryBytes: both(a.memoryBytes, b.memoryBytes),
    isMemoryUnknown: a.isMemoryUnknown || b.isMemoryUnknown,
    others: Object.fromEntries([...names].map((name) => [name, both(of(a, name), of(b, name))])),
  };
}
