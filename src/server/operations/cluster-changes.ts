import type { Graph } from "../../core/graph/graph.ts";
import { prepareLayout } from "../../core/graph/layout.ts";
import {
  linkSubsystem,
  type Relinked,
  relinkAll,
} from "../../core/graph/subsystems/link-subsystem.ts";
import type { NamedDraft } from "../../core/graph/subsystems/compatibility-spec.ts";
import { prepareSubsystemRow } from "../../core/graph/rows.ts";
import type { Subsystem } from "../../core/graph/subsystems/subsystem.ts";
import type { ClusterId } from "../../core/model/ids.ts";
import { AppError, unprocessable } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/**
 * Serializes changes of one cluster's graph and subsystems: the data that a change prepares in
 * slices must still fit when the loop decides it. Also bounds how many changes wait.
 */
export class ClusterChanges {
  readonly #queues = new Map<ClusterId, { waiting: number; last: Promise<unknown> }>();

  async run<Result>(id: ClusterId, change: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(id) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting >= limits.clusterChangesWaitingMax) {
      throw new AppError(
        "exhausted",
        `${queue.waiting} changes of cluster ${id} are queued already; try again later`,
      );
    }
    this.#queues.set(id, queue);
    queue.waiting++;
    const result = queue.last.then(change);
    queue.last = result.then(nothing, nothing);
    try {
      return await result;
    } finally {
      queue.waiting--;
      if (queue.waiting === 0) this.#queues.delete(id);
    }
  }
}

const nothing = (): void => undefined;

type Subsystems = ReadonlyMap<string, Subsystem>;

/** Links the subsystem of a document to the graph of its cluster. Yields between slices. */
export function* linkAll(
  drafts: readonly NamedDraft[],
  graph: Graph,
): Generator<undefined, readonly Subsystem[]> {
  const linked: Subsystem[] = [];
  let links = 0;
  for (const { name, draft } of drafts) {
    const subsystem = yield* linkSubsystem(name, draft, graph);
    links += subsystem.links.size;
    if (links > limits.graphEdgesMax) {
      throw unprocessable("document", `at most ${limits.graphEdgesMax} linked vertices`);
    }
    linked.push(subsystem);
  }
  return linked;
}

/** Prepares data for the store and the matcher. Yields between slices. */
export function* prepareSubsystems(
  graph: Graph,
  before: Subsystems,
  added: readonly Subsystem[],
): Generator<undefined, void> {
  const all = new Map(before);
  for (const subsystem of added) all.set(subsystem.name, subsystem);
  yield* prepareShapes(graph, all);
  for (const subsystem of added) yield* prepareSubsystemRow(subsystem);
}

/** The same for another graph, with the existing subsystems. */
export function* prepareRelinked(
  from: Graph,
  subsystems: Subsystems,
  to: Graph,
): Generator<undefined, Relinked> {
  const relinked = yield* relinkAll(subsystems, from, to);
  yield* prepareSubsystems(to, new Map(), relinked.to);
  return relinked;
}

/** The same for the remaining subsystems. */
export function* prepareWithout(
  graph: Graph,
  subsystems: Subsystems,
  name: string,
): Generator<undefined, void> {
  const left = new Map(subsystems);
  if (left.delete(name)) yield* prepareLayout(graph, left);
}

function* prepareShapes(graph: Graph, subsystems: Subsystems): Generator<undefined, void> {
  const { shapes } = yield* prepareLayout(graph, subsystems);
  if (shapes.length <= limits.graphShapesMax) return;
  throw unprocessable(
    "graph.edges",
    `too many different vertices: at most ${limits.graphShapesMax} vertices of the cluster may differ from all ` +
      "others in type, size, what they contain or what they are linked to",
  );
}
