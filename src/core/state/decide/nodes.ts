import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { NodeId } from "../../model/ids.ts";
import { checkName, clusterId } from "../../model/ids.ts";
import type { Node } from "../../model/node.ts";
import { checkAmountNames } from "../../model/resources.ts";
import { checkLabels, visible } from "../../model/texts.ts";
import type { Change } from "../change.ts";
import type { Answers, CommandOf, Decision, NodeHello, RunRef } from "../command.ts";
import type { NodeRecord } from "../node-record.ts";
import type { State } from "../state.ts";
import { failForGood, isActiveTask, loseAttempt } from "./end-attempt.ts";
import { changeFacts } from "./facts.ts";
import { sicknessOf } from "./health.ts";
import { released } from "./quarantine.ts";

/** An agent said hello: its node is there, and what both sides think it runs is brought in step. */
export function connectNode(state: State, hello: NodeHello): Decision<Answers["connect-node"]> {
  const known = state.nodes.get(hello.nodeId);
  checkHello(state, hello, known?.node);
  const changes: Change[] = [];
  const cluster = clusterId(hello.cluster);
  if (state.clusters.get(cluster) === undefined) {
    changes.push({
      table: "cluster",
      row: { id: cluster, kind: "managed", createdAtMs: hello.nowMs },
    });
  }
  const rebooted =
    known !== undefined && known.node.bootId !== visible(hello.bootId, limits.nameLengthMax);
  changes.push({ table: "node", row: toNode(hello, known?.node) });
  changes.push(...changeFacts(state, hello.nodeId, hello.facts, hello.capacity));
  const answer = reconcile(state, hello, rebooted, changes);
  return { changes, answer };
}

/** Agents are not trusted: their names follow the rules of all names. */
function checkNames({ nodeId, cluster, capacity, labels }: NodeHello): void {
  checkName(nodeId, "hello.node", limits.nameLengthMax);
  checkName(cluster, "hello.cluster", limits.nameLengthMax);
  checkAmountNames(capacity, "hello.capacity");
  checkLabels(labels, "hello.labels");
}

function checkHello(state: State, hello: NodeHello, known: Node | undefined): void {
  checkNames(hello);
  checkCluster(state, hello);
  if (known === undefined && state.nodes.size >= limits.nodesMax) {
    throw new AppError("exhausted", `there are ${limits.nodesMax} nodes already`);
  }
  const spoke = known?.clusterAgent !== undefined;
  if (known !== undefined && spoke !== (hello.clusterAgent !== undefined)) {
    const what = spoke ? "speaks for a cluster" : "is a node of its own";
    throw new AppError(
      "permission_denied",
      `${hello.nodeId} ${what}; choose another name (--name)`,
    );
  }
  if (known !== undefined && known.agentKeyHash !== hello.agentKeyHash) {
    throw new AppError(
      "permission_denied",
      `node ${hello.nodeId} belongs to another agent; choose another name, or remove the node ` +
        `first if that agent is gone for good (busbar nodes remove ${hello.nodeId})`,
    );
  }
}

/** A cluster is spoken for as a whole, or by its nodes. */
function checkCluster({ clusters }: State, { cluster, clusterAgent }: NodeHello): void {
  const kind = clusters.get(clusterId(cluster))?.kind;
  if (clusterAgent === undefined) {
    if (kind !== "pulling") return;
    throw new AppError(
      "permission_denied",
      `cluster ${cluster} was registered with a graph and takes no agents of nodes; speak for all ` +
        "of it (--executor), choose another name (--cluster), or delete it first " +
        `(busbar cluster delete ${cluster})`,
    );
  }
  if (kind === "managed") {
    throw new AppError(
      "permission_denied",
      `cluster ${cluster} has agents on its nodes and cannot be spoken for as a whole; ` +
        "choose another name (--cluster)",
    );
  }
  if (kind === undefined) {
    throw new AppError("not_found", `cluster ${cluster} is not registered yet`);
  }
}

const toNode = (hello: NodeHello, known: Node | undefined): Node => ({
  id: hello.nodeId,
  cluster: clusterId(hello.cluster),
  capacity: hello.capacity,
  labels: hello.labels,
  link: { kind: "connected", session: hello.session, sinceMs: hello.nowMs },
  drain: known?.drain,
  agentKeyHash: hello.agentKeyHash,
  bootId: visible(hello.bootId, limits.nameLengthMax),
  agentVersion: visible(hello.agentVersion, limits.nameLengthMax),
  registeredAtMs: known?.registeredAtMs ?? hello.nowMs,
  ...sicknessOf(hello.sickness, known, hello.nowMs),
  ...(known?.quarantine === undefined ? {} : { quarantine: known.quarantine }),
  ...(hello.address === undefined ? {} : { address: hello.address }),
  ...(hello.clusterAgent === undefined ? {} : { clusterAgent: hello.clusterAgent }),
});

/**
 * What we think runs there and the agent knows: goes on. What it does not know: sent again if it
 * never started, lost otherwise. What it has and we do not want there: stopped.
 *
 * After a restart of the machine nobody knows what had started: the word of it may not have reached
 * us, and the agent's note of it may not have reached the disk. Then it is lost: an attempt that is
 * made twice would be worse than one that is made anew.
 */
function reconcile(
  state: State,
  hello: NodeHello,
  rebooted: boolean,
  changes: Change[],
): Answers["connect-node"] {
  const starts: RunRef[] = [];
  const stops: RunRef[] = [];
  const theirs = new Set(hello.runs.map(runKey));
  const ours = new Set<string>();
  for (const task of state.nodes.get(hello.nodeId)?.tasks ?? []) {
    if (!isActiveTask(task)) continue;
    const run: RunRef = { jobId: task.jobId, index: task.index, attempt: task.attempt };
    const isKnown = theirs.has(runKey(run));
    if (isKnown) ours.add(runKey(run));
    if (isKnown && task.state.kind === "stopping") stops.push(run);
    else if (!isKnown && task.state.kind === "assigned" && !rebooted) starts.push(run);
    else if (!isKnown) {
      const job = state.jobs.get(task.jobId)?.job;
      const message = rebooted ? "its machine was restarted" : "its agent no longer knows it";
      if (job !== undefined) {
        changes.push({ table: "task", row: loseAttempt(job, task, message, hello.nowMs) });
      }
    }
  }
  for (const run of hello.runs) if (!ours.has(runKey(run))) stops.push(run);
  return { starts, stops };
}

const runKey = ({ jobId, index, attempt }: RunRef): string => `${jobId}.${index}.${attempt}`;

export function disconnectNode(
  state: State,
  { nodeId, session, nowMs }: CommandOf<"disconnect-node">,
): Decision<undefined> {
  const node = state.nodes.get(nodeId)?.node;
  // A newer session may have taken over: the end of the older one says nothing then.
  if (node?.link.kind !== "connected" || node.link.session !== session) {
    return { changes: [], answer: undefined };
  }
  return { changes: [disconnected(node, nowMs)], answer: undefined };
}

export const disconnected = (node: Node, sinceMs: number): Change => ({
  table: "node",
  row: { ...node, link: { kind: "disconnected", sinceMs } },
});

export function drainNode(
  state: State,
  { nodeId, drain: given }: CommandOf<"drain-node">,
): Decision<undefined> {
  const { node: before } = requireNode(state, nodeId);
  // Whoever wants it used again has looked at it.
  const node = given === undefined ? released(before) : before;
  const drain = given && { ...given, reason: visible(given.reason, limits.reasonLengthMax) };
  if (
    node.quarantine === before.quarantine &&
    (drain === undefined) === (node.drain === undefined) &&
    drain?.reason === node.drain?.reason
  ) {
    return { changes: [], answer: undefined };
  }
  return { changes: [{ table: "node", row: { ...node, drain } }], answer: undefined };
}

export function removeNode(
  state: State,
  { nodeId, nowMs }: CommandOf<"remove-node">,
): Decision<undefined> {
  const record = requireNode(state, nodeId);
  if (record.node.link.kind === "connected") {
    throw new AppError("conflict", `node ${nodeId} is connected; stop its agent first`);
  }
  const changes = loseTasks(state, record, "its node was removed", nowMs);
  if (state.facts.has(nodeId)) changes.push({ table: "facts", removed: nodeId });
  changes.push({ table: "node", removed: nodeId });
  return { changes, answer: undefined };
}

/**
 * The node was away too long: its tasks are placed again, with new attempts, unless its agent speaks
 * for a cluster and said otherwise.
 */
export function loseNode(state: State, record: NodeRecord, nowMs: number): Change[] {
  const { node } = record;
  const message = `node ${node.id} was lost`;
  const changes =
    node.clusterAgent?.onLost === "fail"
      ? failTasks(record, message, nowMs)
      : loseTasks(state, record, message, nowMs);
  changes.push({ table: "node", row: { ...node, link: { kind: "lost", sinceMs: nowMs } } });
  return changes;
}

function failTasks({ tasks }: NodeRecord, message: string, nowMs: number): Change[] {
  return [...tasks]
    .filter(isActiveTask)
    .map((task) => ({ table: "task", row: failForGood(task, message, nowMs) }));
}

function loseTasks(state: State, record: NodeRecord, message: string, nowMs: number): Change[] {
  const changes: Change[] = [];
  for (const task of record.tasks) {
    const job = state.jobs.get(task.jobId)?.job;
    if (job === undefined || !isActiveTask(task)) continue;
    changes.push({ table: "task", row: loseAttempt(job, task, message, nowMs) });
  }
  return changes;
}

function requireNode(state: State, id: NodeId): NodeRecord {
  const record = state.nodes.get(id);
  if (record === undefined) throw new AppError("not_found", `there is no node ${id}`);
  return record;
}
