import type { ClusterStatus } from "../../src/core/model/cluster.ts";
import type { Node } from "../../src/core/model/node/node.ts";
import type { Resources } from "../../src/core/model/resources.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { isActive } from "../../src/core/model/job/task.ts";
import { isDeepEqual } from "../../src/lib/is-deep-equal.ts";
import type { Ask, Asked, Wish } from "./asks.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable, RowMove } from "./durable.ts";
import { formatRun } from "./durable.ts";

/**
 * Graph requests, judged by the clients' intentions. A row that is written twice in one batch is seen once: its consequences are not judged
 * there.
 */
interface Scene {
  readonly durable: Durable;
  readonly asked: Asked;
  readonly moves: BatchMoves;
}

/** The task's part of its node. */
export const takenBy = ({ jobs }: Durable, task: Task): Resources =>
  task.takes ?? jobs.get(task.jobId)?.spec.needs ?? {};

const askOf = ({ durable, asked }: Scene, { jobId }: Task): Ask | undefined =>
  asked.jobs.get(durable.jobs.get(jobId)?.spec.name ?? "");

const isNewAttempt = ({ before, after }: RowMove<Task>): boolean =>
  before === undefined || before.attempt !== after?.attempt;

/** On a node a task uses exactly one alternative that the node satisfies, and keeps it. */
export function placedAsAsked(scene: Scene): Verdict {
  for (const move of scene.moves.tasks) {
    const { before, after } = move;
    if (after === undefined || !(isActive(after.state) || after.state.kind === "held")) continue;
    const problem = isNewAttempt(move)
      ? placedWrongly(scene, after, after.state.nodeId)
      : keptWrongly(before, after);
    if (problem !== undefined) return `${formatRun(after)} ${problem}`;
  }
  return undefined;
}

const keptWrongly = (before: Task | undefined, after: Task): Verdict =>
  before === undefined || isDeepEqual(before.takes, after.takes)
    ? undefined
    : `took ${JSON.stringify(before.takes)} and takes ${JSON.stringify(after.takes)}`;

function placedWrongly(scene: Scene, task: Task, id: string): Verdict {
  const { durable, moves } = scene;
  const node = durable.nodes.get(id);
  const ask = askOf(scene, task);
  if (node === undefined || ask === undefined) return `is on ${id}: who is it, who asked for it?`;
  if (node.clusterAgent !== undefined) return offeredWrongly(scene, ask, node.cluster);
  if (id !== (ask.node ?? id)) return `is on ${id}, and wants ${ask.node}`;
  if (node.cluster !== (ask.cluster ?? node.cluster)) return `is on ${id}, not in ${ask.cluster}`;
  if (ask.wantsFree && isFull(scene, node.cluster)) return `is on ${id}, which says it is full`;
  const isMoot = moves.touched.has(`declared/${node.cluster}/io`);
  const hasIo = isMoot || durable.clusters.hasIo(node.cluster, id);
  const took = takenBy(durable, task);
  const isAsked = ask.wishes.some(
    (wish) => (hasIo || !wish.wantsIo) && isDeepEqual(took, amountsOf(wish, node)),
  );
  if (isAsked) return undefined;
  return `takes ${JSON.stringify(took)} of ${id}, and wants ${JSON.stringify(ask.wishes)}`;
}

/** Undefined: more than the node has. A task that names no core uses one. */
function amountsOf(
  { cores, memory, gpus, isWhole }: Wish,
  { capacity }: Node,
): Resources | undefined {
  const { cpu = 0, memory: bytes = 0, gpu = 0 } = capacity;
  if (cores * 1_000 > cpu || memory > bytes || gpus > gpu) return undefined;
  if (isWhole) return capacity;
  return {
    cpu: cores === 0 ? 1_000 : cores * 1_000,
    ...(memory > 0 ? { memory } : {}),
    ...(gpus > 0 ? { gpu: gpus } : {}),
  };
}

/** Where a task has a whole node, no other task is bound to it. */
export function wholeNodesAreAlone(scene: Scene): Verdict {
  const { durable } = scene;
  const byNode = new Map<string, Task[]>();
  for (const task of durable.tasks.values()) {
    if (!isActive(task.state)) continue;
    const { nodeId } = task.state;
    if (durable.nodes.get(nodeId)?.clusterAgent !== undefined) continue;
    byNode.set(nodeId, [...(byNode.get(nodeId) ?? []), task]);
  }
  for (const [id, tasks] of byNode) {
    const owner = tasks.length > 1 ? tasks.find((task) => hasAll(scene, task, id)) : undefined;
    if (owner !== undefined) {
      return `${formatRun(owner)} has node ${id} for itself, where ${tasks.map(formatRun).join()} are`;
    }
  }
  return undefined;
}

/** It requests only whole nodes, or got one. */
function hasAll(scene: Scene, task: Task, id: string): boolean {
  const wholes = askOf(scene, task)?.wishes ?? [];
  if (!wholes.some(({ isWhole }) => isWhole)) return false;
  const { durable } = scene;
  if (isDeepEqual(takenBy(durable, task), durable.nodes.get(id)?.capacity)) return true;
  // On a node without gpus only the remaining alternatives are possible.
  return wholes.every(({ isWhole, gpus }) => isWhole || gpus > 0);
}

/** A task is offered to an allowed cluster that has the requested resources, and has them free. */
export function offeredAsAsked(scene: Scene): Verdict {
  for (const move of scene.moves.tasks) {
    const { after } = move;
    if (after?.state.kind !== "offered" || !isNewAttempt(move)) continue;
    const { cluster } = after.state;
    const ask = askOf(scene, after);
    const problem = ask === undefined ? "nobody asked for" : offeredWrongly(scene, ask, cluster);
    if (problem !== undefined) return `${formatRun(after)} is offered to ${cluster}, ${problem}`;
  }
  return undefined;
}

function offeredWrongly(scene: Scene, ask: Ask, cluster: string): Verdict {
  const { durable, asked, moves } = scene;
  if (ask.node !== undefined) return `and wants node ${ask.node}`;
  if (!ask.isRequest && ask.cluster === undefined) return "and asks for amounts of nodes";
  if (cluster !== (ask.cluster ?? cluster)) return `and wants ${ask.cluster}`;
  if (ask.wantsFree && isFull(scene, cluster)) return "which says it is full";
  if (isChanged(moves, cluster)) return undefined;
  const { nodes = [] } = asked.shapes.get(durable.clusters.roots.get(cluster) ?? "") ?? {};
  const has = nodes.some((node, at) =>
    ask.wishes.some(
      (wish) =>
        wish.cores <= node.cores &&
        wish.memory <= node.memory &&
        wish.gpus <= node.gpus &&
        (!wish.wantsIo || durable.clusters.hasIo(cluster, `n${at}`)),
    ),
  );
  return has
    ? undefined
    : `which has ${JSON.stringify(nodes)} and not ${JSON.stringify(ask.wishes)}`;
}

const isChanged = ({ touched }: BatchMoves, cluster: string): boolean =>
  [`cluster/${cluster}`, `graph/${cluster}`, `subsystem/${cluster}/io`].some((key) =>
    touched.has(key),
  );

/** Nothing was free before the batch, and no cluster reported anything else in it. */
function isFull({ durable, moves }: Scene, cluster: string): boolean {
  const told = freeOf(moves.statusesBefore.get(cluster));
  const now = freeOf(durable.clusters.statuses.get(cluster));
  if (moves.touched.has(`cluster/${cluster}`) || told?.setAtMs !== now?.setAtMs) return false;
  return typeof told?.value !== "number" || told.value <= 0;
}

const freeOf = (status: ClusterStatus | undefined): ClusterStatus["state"][string] | undefined =>
  status?.state["nodes_free"];

/** An offered or accepted task belongs to an existing cluster. */
export function offersHaveClusters({ tasks, clusters }: Durable): Verdict {
  for (const task of tasks.values()) {
    const { state } = task;
    if (state.kind !== "offered" && state.kind !== "accepted") continue;
    if (clusters.isPulling(state.cluster)) continue;
    return `${formatRun(task)} is ${state.kind} by ${state.cluster}, which is not there`;
  }
  return undefined;
}

/** A cluster's counter decreases by one for each offered task: all of them request one node. */
export function countersGoDown({ durable, moves }: Scene): Verdict {
  const placed = moves.tasks.reduce(
    (sum, { before, after }) => sum + Math.max(0, (after?.attempt ?? 0) - (before?.attempt ?? 0)),
    0,
  );
  for (const [cluster, status] of durable.clusters.statuses) {
    const before = moves.statusesBefore.get(cluster);
    const [then, now] = [freeOf(before), freeOf(status)];
    const isTold = then === undefined || then.setAtMs !== now?.setAtMs;
    if (isTold || moves.touched.has(`cluster/${cluster}`)) continue;
    const offered = moves.tasks.filter((move) => isOffer(move, cluster)).length;
    // Some may have been offered and cancelled in the same batch.
    const [most, least] = status.counters.length > 0 ? [placed, offered] : [0, 0];
    const left = (count: number): number => Math.max(0, Number(then.value) - count);
    if (Number(now.value) >= left(most) && Number(now.value) <= left(least)) continue;
    return `${cluster} had ${then.value} free, was offered ${offered} tasks and has ${now.value}`;
  }
  return undefined;
}

const isOffer = (move: RowMove<Task>, cluster: string): boolean => {
  const state = move.after?.state;
  return state?.kind === "offered" && state.cluster === cluster && isNewAttempt(move);
};
