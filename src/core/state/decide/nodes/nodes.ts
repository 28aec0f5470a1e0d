import { agentOf } from "../../../access/principal.ts";
import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { NodeId } from "../../../model/ids.ts";
import type { Job } from "../../../model/job/job.ts";
import type { Task } from "../../../model/job/task.ts";
import { checkName, clusterId } from "../../../model/ids.ts";
import type { LossPolicy, LossTerms, Node } from "../../../model/node/node.ts";
import { lossPolicyOf } from "../../../model/node/node.ts";
import { checkPower, reportedPower, withPower } from "../../../model/node/power.ts";
import { checkAmountNames } from "../../../model/resources.ts";
import { checkLabels, visible } from "../../../model/texts.ts";
import type { Change } from "../../change.ts";
import type { Answers, CommandOf, Decision, HeldRun, NodeHello, RunRef } from "../../command.ts";
import type { NodeRecord } from "../../../scheduler/nodes/node-record.ts";
import type { State } from "../../state.ts";
import type { ActiveTask } from "../tasks/end-attempt.ts";
import {
  type Absence,
  failForGood,
  isActiveTask,
  isToRequeue,
  loseAttempt,
  requeued,
} from "../tasks/end-attempt.ts";
import { checkRevision, type Conditional } from "../if-revision.ts";
import { changeFacts } from "./facts.ts";
import { healthProblemOf } from "./health.ts";
import { begun, isHeldTask } from "../tasks/held.ts";
import { released } from "./quarantine.ts";

/** An agent said hello: adds its node, and reconciles its runs with the tasks of the node. */
export function connectNode(state: State, hello: NodeHello): Decision<Answers["connect-node"]> {
  const known = state.nodes.get(hello.nodeId);
  checkHello(state, hello, known?.node);
  const changes: Change[] = [];
  const cluster = clusterId(hello.cluster);
  if (state.clusters.get(cluster) === undefined) {
    changes.push({
      table: "cluster",
      row: {
        id: cluster,
        kind: "managed",
        createdAtMs: hello.nowMs,
        registeredBy: agentOf(hello.nodeId),
      },
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
function checkNames({ nodeId, cluster, capacity, labels, power }: NodeHello): void {
  checkName(nodeId, "hello.node", limits.nameLengthMax);
  checkName(cluster, "hello.cluster", limits.nameLengthMax);
  checkAmountNames(capacity, "hello.capacity");
  checkLabels(labels, "hello.labels");
  if (power !== undefined) checkPower(power, "hello.power");
}

function checkHello(state: State, hello: NodeHello, known: Node | undefined): void {
  checkNames(hello);
  checkCluster(state, hello);
  if (known === undefined && state.nodes.size >= limits.nodesMax) {
    throw new AppError("exhausted", `the limit of ${limits.nodesMax} nodes is reached`);
  }
  const spoke = known?.clusterAgent !== undefined;
  if (known !== undefined && spoke !== (hello.clusterAgent !== undefined)) {
    const what = spoke ? "is the name of a cluster's agent" : "is the name of a node";
    throw new AppError(
      "permission_denied",
      `${hello.nodeId} ${what}; choose another name (--name)`,
    );
  }
  if (known !== undefined && known.agentKeyHash !== hello.agentKeyHash) {
    throw new AppError(
      "permission_denied",
      `node ${hello.nodeId} belongs to another agent; choose another name, or remove the node ` +
        `first if that agent will not return (busbar nodes remove ${hello.nodeId})`,
    );
  }
}

/** A cluster has agents of the whole cluster, or agents of its nodes. */
function checkCluster({ clusters }: State, { cluster, clusterAgent }: NodeHello): void {
  const kind = clusters.get(clusterId(cluster))?.kind;
  if (clusterAgent === undefined) {
    if (kind !== "pulling") return;
    throw new AppError(
      "permission_denied",
      `cluster ${cluster} is a pull cluster, whose nodes have no agents; start one agent for the whole cluster ` +
        "(--executor), choose another name (--cluster), or delete the cluster first " +
        `(busbar cluster delete ${cluster})`,
    );
  }
  if (kind === "managed") {
    throw new AppError(
      "permission_denied",
      `cluster ${cluster} is managed: its nodes have agents, so it cannot have one agent for the whole cluster; ` +
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
  capacity: withPower(hello.capacity, hello.power),
  labels: hello.labels,
  link: { kind: "connected", session: hello.session, sinceMs: hello.nowMs },
  drain: known?.drain,
  agentKeyHash: hello.agentKeyHash,
  bootId: visible(hello.bootId, limits.nameLengthMax),
  agentVersion: visible(hello.agentVersion, limits.nameLengthMax),
  registeredAtMs: known?.registeredAtMs ?? hello.nowMs,
  ...healthProblemOf(hello.sickness, known, hello.nowMs),
  ...(known?.quarantine === undefined ? {} : { quarantine: known.quarantine }),
  ...(hello.canHold === true ? { canHold: true } : {}),
  ...(hello.canAttach === true ? { canAttach: true } : {}),
  ...(hello.instancesOnly === true ? { instancesOnly: true } : {}),
  ...(hello.power === undefined
    ? {}
    : { power: reportedPower(hello.power, known?.power, hello.nowMs) }),
  ...(hello.address === undefined ? {} : { address: hello.address }),
  ...(hello.clusterAgent === undefined ? {} : { clusterAgent: hello.clusterAgent }),
  ...(hello.loss === undefined ? {} : { loss: hello.loss }),
  ...(known?.setLoss === undefined ? {} : { setLoss: known.setLoss }),
  ...(known?.changedBy === undefined ? {} : { changedBy: known.changedBy }),
});

/**
 * Compares the tasks of the node with the runs that its agent knows. A task that the agent knows continues. A task
 * that it does not know is sent again if it never started, and is lost otherwise. An unwanted run is stopped.
 *
 * After a restart of the machine it is unknown which runs had started: the report may not have reached
 * us, and the agent's record may not have reached the disk. Such a task is lost: to run one attempt
 * twice would be worse than to begin a new attempt.
 *
 * Held tasks are sent again, wanted or not, and the server asks for the unwanted ones back: a Hello that
 * arrives late does not include tasks that a later session received, and may have begun.
 */
function reconcile(
  state: State,
  hello: NodeHello,
  rebooted: boolean,
  changes: Change[],
): Answers["connect-node"] {
  const starts: RunRef[] = [];
  const stops: RunRef[] = [];
  const theirs = new Set(hello.runs.map(keyOfRef));
  const known = state.nodes.get(hello.nodeId)?.node;
  const isOnceOnly = known !== undefined && lossPolicyOf(known) === "fail";
  const ours = new Set<string>();
  const lose = (task: ActiveTask): void => {
    const job = state.jobs.get(task.jobId)?.job;
    if (job === undefined) return;
    const message = rebooted ? "its machine was restarted" : "its agent has no record of it";
    const row = isOnceOnly
      ? failForGood(task, message, hello.nowMs)
      : loseAttempt(job, task, message, hello.nowMs, known && absenceOf(known, hello.nowMs));
    changes.push({ table: "task", row });
  };
  for (const task of state.nodes.get(hello.nodeId)?.tasks ?? []) {
    if (!isActiveTask(task)) continue;
    const run: RunRef = { jobId: task.jobId, index: task.index, attempt: task.attempt };
    const isKnown = theirs.has(keyOfRef(run));
    if (isKnown) ours.add(keyOfRef(run));
    if (isKnown && task.state.kind === "stopping") stops.push(run);
    else if (!isKnown && task.state.kind === "assigned" && !rebooted) {
      starts.push(task.share === undefined ? run : { ...run, share: task.share });
    } else if (!isKnown) lose(task);
  }
  const holds: HeldRun[] = [];
  for (const task of state.nodes.get(hello.nodeId)?.held ?? []) {
    if (!isHeldTask(task)) continue;
    const run: RunRef = { jobId: task.jobId, index: task.index, attempt: task.attempt };
    const { heldAtMs, takeBack } = task.state;
    const isKnown = theirs.has(keyOfRef(run));
    if (isKnown) ours.add(keyOfRef(run));
    if (isKnown && takeBack?.isCancel === true) stops.push(run);
    if (isKnown) changes.push({ table: "task", row: begun(task) });
    else if (rebooted || hello.canHold !== true) lose(begun(task));
    else holds.push({ run, heldAtMs, isWanted: takeBack === undefined });
  }
  for (const run of hello.runs) if (!ours.has(keyOfRef(run))) stops.push(run);
  return { starts, holds, stops };
}

const keyOfRef = ({ jobId, index, attempt }: RunRef): string => `${jobId}.${index}.${attempt}`;

export function disconnectNode(
  state: State,
  { nodeId, session, nowMs, heardAtMs = nowMs }: CommandOf<"disconnect-node">,
): Decision<undefined> {
  const node = state.nodes.get(nodeId)?.node;
  // A newer session may have taken over: then the end of the older one changes nothing.
  if (node?.link.kind !== "connected" || node.link.session !== session) {
    return { changes: [], answer: undefined };
  }
  const sinceMs = Math.max(Math.min(heardAtMs, nowMs), node.link.sinceMs);
  return { changes: [disconnected(node, sinceMs)], answer: undefined };
}

export const disconnected = (
  node: Node,
  sinceMs: number,
  how: { readonly withServer?: true } = {},
): Change => ({
  table: "node",
  row: { ...node, link: { kind: "disconnected", sinceMs, ...how } },
});

export function drainNode(state: State, command: CommandOf<"drain-node">): Decision<undefined> {
  const { drain: given, by } = command;
  const { node: before } = nodeToChange(state, command);
  // An operator who undrains the node has checked it: this ends a quarantine.
  const node = given === undefined ? released(before) : before;
  const drain = given && { by, reason: visible(given.reason, limits.reasonLengthMax) };
  if (
    node.quarantine === before.quarantine &&
    (drain === undefined) === (node.drain === undefined) &&
    drain?.reason === node.drain?.reason
  ) {
    return { changes: [], answer: undefined };
  }
  const row = { ...node, drain, changedBy: by };
  return { changes: [{ table: "node", row }], answer: undefined };
}

export function removeNode(state: State, command: CommandOf<"remove-node">): Decision<undefined> {
  const { nodeId, by, nowMs } = command;
  const record = nodeToChange(state, command);
  if (record.node.link.kind === "connected") {
    throw new AppError("conflict", `node ${nodeId} is connected; stop its agent first`);
  }
  const lose = lossPolicyOf(record.node) === "fail" ? fail : loseAttempt;
  const changes = endTasks(state, record, lose, { message: "its node was removed", nowMs });
  if (state.facts.has(nodeId)) changes.push({ table: "facts", removed: nodeId });
  changes.push({ table: "node", removed: nodeId, by });
  return { changes, answer: undefined };
}

/**
 * An operator sets when the node counts as lost, and what happens to its tasks then. Tasks that a lost
 * node has kept until now follow the new policy at once.
 */
export function setNodeLoss(
  state: State,
  command: CommandOf<"set-node-loss">,
): Decision<undefined> {
  const { loss, by, nowMs } = command;
  const record = nodeToChange(state, command);
  const { node } = record;
  const { setLoss: before, ...others } = node;
  const rest = { ...others, changedBy: by };
  const after = merged(before ?? {}, loss);
  if (after.onLost === before?.onLost && after.lostAfterMs === before?.lostAfterMs) {
    return { changes: [], answer: undefined };
  }
  const isSet = after.onLost !== undefined || after.lostAfterMs !== undefined;
  const row: Node = isSet ? { ...rest, setLoss: after } : rest;
  const changes: Change[] = [];
  if (node.link.kind === "lost") {
    const at = { message: `node ${node.id} was lost`, nowMs };
    changes.push(...endTasks(state, record, LOSSES[lossPolicyOf(row)], at));
  }
  changes.push({ table: "node", row });
  return { changes, answer: undefined };
}

function merged(before: LossTerms, { onLost, lostAfterMs }: CommandOf<"set-node-loss">["loss"]) {
  const policy = onLost === undefined ? before.onLost : (onLost ?? undefined);
  const afterMs = lostAfterMs === undefined ? before.lostAfterMs : (lostAfterMs ?? undefined);
  const terms: LossTerms = {
    ...(policy === undefined ? {} : { onLost: policy }),
    ...(afterMs === undefined ? {} : { lostAfterMs: afterMs }),
  };
  return terms;
}

/**
 * The node was disconnected too long. Its tasks are placed again with new attempts, fail, or stay with the
 * node until it returns: its loss policy decides. A task that was being cancelled is cancelled in
 * any case: it needs no other attempt, and a returning node stops its run. A task that was being
 * requeued is placed again, unless the policy is to fail the tasks of a lost node.
 */
export function loseNode(state: State, record: NodeRecord, nowMs: number): Change[] {
  const { node } = record;
  const at = { message: `node ${node.id} was lost`, nowMs };
  const changes = endTasks(state, record, LOSSES[lossPolicyOf(node)], at);
  changes.push({
    table: "node",
    row: { ...node, link: { kind: "lost", sinceMs: awaySince(node, nowMs) } },
  });
  return changes;
}

/** The last sign of life of its agent. */
const awaySince = ({ link }: Node, nowMs: number): number =>
  link.kind === "connected" ? nowMs : link.sinceMs;

const absenceOf = (node: Node, nowMs: number): Absence => ({
  heardAtMs: awaySince(node, nowMs),
  isWithServer: node.link.kind === "disconnected" && node.link.withServer === true,
});

/** How a task of a lost node ends; undefined: it stays with the node. */
type Lose = (
  job: Job,
  task: ActiveTask,
  message: string,
  nowMs: number,
  absence: Absence,
) => Task | undefined;

const fail: Lose = (_job, task, message, nowMs) => failForGood(task, message, nowMs);

const LOSSES: Readonly<Record<LossPolicy, Lose>> = {
  requeue: loseAttempt,
  keep(_job, task, message, nowMs) {
    if (task.state.kind !== "stopping") return undefined;
    const isWanted = isToRequeue(task);
    return isWanted
      ? requeued(task, { endedAtMs: nowMs, nowMs })
      : failForGood(task, message, nowMs);
  },
  fail,
};

function endTasks(
  state: State,
  record: NodeRecord,
  lose: Lose,
  { message, nowMs }: { readonly message: string; readonly nowMs: number },
): Change[] {
  const changes: Change[] = [];
  for (const task of tasksOn(record)) {
    const job = state.jobs.get(task.jobId)?.job;
    if (job === undefined) continue;
    const row = lose(job, task, message, nowMs, absenceOf(record.node, nowMs));
    if (row !== undefined) changes.push({ table: "task", row });
  }
  return changes;
}

/** Tasks that its agent may have begun, held ones included. */
const tasksOn = ({ tasks, held }: NodeRecord) => [
  ...[...tasks].filter(isActiveTask),
  ...[...held].filter(isHeldTask).map(begun),
];

function nodeToChange(
  state: State,
  command: Conditional & { readonly nodeId: NodeId },
): NodeRecord {
  const { nodeId: id } = command;
  const record = state.nodes.get(id);
  if (record === undefined) throw new AppError("not_found", `there is no node ${id}`);
  checkRevision(`node ${id}`, record.revision, command);
  return record;
}
