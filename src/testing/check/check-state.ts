import { toJgf } from "../../core/graph/jgf.ts";
import { toSubsystemJgf } from "../../core/graph/subsystems/subsystem.ts";
import type { ClusterId } from "../../core/model/ids.ts";
import { taskTotalOf } from "../../core/model/job/job.ts";
import { isSchedulable, isTaking } from "../../core/model/node/node.ts";
import { addInto, dominantShare } from "../../core/model/resources.ts";
import { isActive, usageOf } from "../../core/model/job/task.ts";
import { addUsage, noUsage, tallyUsage } from "../../core/model/job/usage.ts";
import { requestKey } from "../../core/scheduler/request.ts";
import type { Change } from "../../core/state/change.ts";
import { TABLES } from "../../core/state/tables/tables.ts";
import { prepareQuery } from "../../core/state/jobs/job-index.ts";
import { endOf, TASK_STATES, taskStateName } from "../../core/state/jobs/progress.ts";
import { createRowLoader } from "../../core/state/row-loader.ts";
import { State } from "../../core/state/state.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { SeenJob } from "../all-jobs.ts";
import { readJobs } from "../all-jobs.ts";
import { checkHolds, isHeldBy } from "./check-holds.ts";
import { checkNodeTotals } from "./check-node-totals.ts";
import { checkQueue } from "./check-queue.ts";

/**
 * Recomputes from the rows what the indexes say, and returns every disagreement: overcommit, a
 * task on two nodes, counts that drifted, work the queue has forgotten.
 */
export function checkState(state: State): string[] {
  const all = readJobs(state);
  return [
    ...checkJobs(all),
    ...checkFolded(state, all),
    ...checkNodes(state, all),
    ...checkNodeTotals(state),
    ...checkFacts(state),
    ...checkGroups(state, all),
    ...checkHolds(state, all),
    ...checkQuarantined(state),
    ...checkClusters(state, all),
    ...checkHanded(state, all),
    ...checkQueue(state),
  ];
}

function checkJobs(all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  for (const { job, progress, ...record } of all) {
    const counts = Object.fromEntries(TASK_STATES.map((name) => [name, 0]));
    let rows = 0;
    for (const task of record.rows) {
      rows++;
      const name = taskStateName(job, task.state);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    const rest = job.closed?.kind ?? "pending";
    counts[rest] = (counts[rest] ?? 0) + taskTotalOf(job.spec) - rows;
    for (const name of TASK_STATES) {
      if (counts[name] !== progress.counts[name]) {
        wrong.push(`job ${job.id} counts ${progress.counts[name]} ${name}, has ${counts[name]}`);
      }
    }
    const usage = record.rows.map(usageOf).reduce(addUsage, undefined);
    if (!isDeepEqual(usage, progress.usage)) {
      wrong.push(
        `job ${job.id} used ${JSON.stringify(progress.usage)}, its tasks ${JSON.stringify(usage)}`,
      );
    }
    const { lane } = record;
    const isHeld = isHeldBy(job, progress);
    if (isHeld && lane !== undefined) wrong.push(`job ${job.id} waits for others and is queued`);
    if (progress.counts.pending > 0 && lane === undefined && !isHeld) {
      wrong.push(`job ${job.id} has pending tasks and is not queued`);
    }
    if (lane === undefined) continue;
    const waitsFor = [lane.group.group.id, lane.priority, lane.request.key].join(" ");
    const asksFor = [job.spec.group, job.spec.priority, requestKey(job.spec)].join(" ");
    if (waitsFor !== asksFor)
      wrong.push(`job ${job.id} asks for ${asksFor}, waits for ${waitsFor}`);
  }
  return wrong;
}

/** What is known of a folded job without reading it is what its row says. */
function checkFolded(state: State, all: readonly SeenJob[]): string[] {
  const { jobs } = state;
  return all.flatMap(({ job, progress }) => {
    const mark = jobs.foldedEnd(job.id);
    const isSame =
      jobs.stateOf(job.id) === progress.state &&
      (mark === undefined ||
        (mark.group === job.spec.group && jobs.endOf(job.id) === endOf(job, progress)));
    const { group, labels, name } = job.spec;
    const { submittedBy } = job;
    const query = { states: [progress.state], group, labels, name, submittedBy };
    const isFound = state.index.mayHold(job.id, prepareQuery(query));
    return [
      ...(isSame ? [] : [`job ${job.id} is folded as ${JSON.stringify(mark)}`]),
      ...(isFound ? [] : [`job ${job.id} is not found by ${JSON.stringify(query)}`]),
    ];
  });
}

function checkNodes(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const usedByNode = new Map<string, Record<string, number>>();
  /** Tasks there began in the place of others, whose ends may be on their way. */
  const begunOn = new Set<string>();
  let held = 0;
  for (const { job, rows } of all) {
    for (const task of rows) {
      if (task.state.kind === "held") {
        const isThere = state.nodes.get(task.state.nodeId)?.held.has(task) === true;
        if (!isThere) wrong.push(`task ${job.id}.${task.index} is not held by its node`);
        held++;
      }
      if (!isActive(task.state)) continue;
      if (task.state.kind === "assigned" && task.state.isBegun === true)
        begunOn.add(task.state.nodeId);
      const used = usedByNode.get(task.state.nodeId) ?? {};
      addInto(used, task.takes ?? job.spec.needs);
      usedByNode.set(task.state.nodeId, used);
      const node = state.nodes.get(task.state.nodeId);
      if (node?.tasks.has(task) !== true)
        wrong.push(`task ${job.id}.${task.index} is not on its node`);
    }
  }
  const holds = state.nodes.values().reduce((sum, record) => sum + record.held.size, 0);
  if (holds !== held) wrong.push(`nodes hold ${holds} tasks, ${held} are held`);
  for (const record of state.nodes.values()) {
    const { node, used } = record;
    const want = usedByNode.get(node.id) ?? {};
    for (const name of new Set([...Object.keys(used), ...Object.keys(want)])) {
      if (used[name] !== want[name]) {
        wrong.push(`node ${node.id} uses ${used[name]} ${name}, its tasks ${want[name]}`);
      }
      // An agent of a cluster takes what it has room for, which is its own business.
      const isJudged = node.clusterAgent === undefined && !begunOn.has(node.id);
      if (isJudged && (want[name] ?? 0) > (node.capacity[name] ?? 0)) {
        wrong.push(`node ${node.id} is overcommitted: ${want[name]} ${name}`);
      }
    }
  }
  return wrong;
}

/** Nothing is known of a node that is not there, and nothing promised that is not offered. */
function checkFacts(state: State): string[] {
  return [...state.facts].flatMap(([id, facts]) => {
    const capacity = state.nodes.get(id)?.node.capacity;
    if (capacity === undefined) return [`there are facts of ${id}, which is no node`];
    const { cpu = 0, memory = 0, gpu = 0 } = capacity;
    const offered = facts.cores * 1_000 <= cpu && facts.memoryBytes <= memory && facts.gpus <= gpu;
    return offered ? [] : [`the facts of ${id} promise more than it offers`];
  });
}

function checkGroups(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const byGroup = Map.groupBy(all, ({ job }) => job.spec.group);
  for (const { group, tasks, usage } of state.groups.values()) {
    const own = byGroup.get(group.id) ?? [];
    const used = noUsage();
    for (const { rows } of own) for (const row of rows) tallyUsage(used, usageOf(row));
    if (JSON.stringify(used) !== JSON.stringify(usage))
      wrong.push(`group ${group.id} used ${JSON.stringify(usage)}, not ${JSON.stringify(used)}`);
    for (const name of TASK_STATES) {
      const sum = own.reduce((total, { progress }) => total + progress.counts[name], 0);
      if (sum !== tasks[name])
        wrong.push(`group ${group.id} counts ${tasks[name]} ${name}, has ${sum}`);
    }
  }
  return wrong;
}

/** Quarantined nodes are known, and a trial is of a task that goes on there. */
function checkQuarantined({ nodes, fleet }: State): string[] {
  const { quarantined } = fleet.suspicions;
  const wrong: string[] = [];
  for (const record of nodes.values()) {
    const { id, quarantine } = record.node;
    if (quarantined.has(record) !== (quarantine !== undefined))
      wrong.push(`node ${id} is ${quarantine === undefined ? "not " : ""}quarantined`);
  }
  if (quarantined.size > nodes.size) wrong.push("more nodes are quarantined than there are");
  return wrong;
}

function checkClusters(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const tasks = new Map<string, number>();
  const count = (cluster: string): unknown => tasks.set(cluster, (tasks.get(cluster) ?? 0) + 1);
  for (const { rows } of all) {
    for (const { state: at } of rows) {
      if (at.kind === "offered") count(at.cluster);
      else if (isActive(at)) count(state.nodes.get(at.nodeId)?.node.cluster ?? "");
    }
  }
  for (const { id } of state.credentials.inOrder) {
    if ("cluster" in id && state.clusters.get(id.cluster) === undefined)
      wrong.push(`there is a ${id.kind} of ${id.cluster}, which is no cluster`);
  }
  for (const { id } of state.clusters.inOrder) {
    const { loads } = state.clusters;
    const want = tasks.get(id) ?? 0;
    if (loads.tasksOf(id) !== want)
      wrong.push(`cluster ${id} counts ${loads.tasksOf(id)} tasks, has ${want}`);
    const nodes = [...state.nodes.values()].filter(({ node }) => node.cluster === id);
    const capacity = {};
    const used = {};
    const agents = nodes.filter(({ node }) => node.clusterAgent !== undefined);
    const isForsaken = agents.length > 0 && !agents.some(({ node }) => isTaking(node));
    if (loads.isForsaken(id) !== isForsaken)
      wrong.push(`cluster ${id} is ${isForsaken ? "" : "not "}forsaken by its agents`);
    for (const record of nodes) {
      if (isSchedulable(record.node)) addInto(capacity, record.node.capacity);
      addInto(used, record.used);
    }
    const share = Object.keys(capacity).length === 0 ? undefined : dominantShare(used, capacity);
    const known = loads.usedShare(id);
    if (known !== (share === undefined ? share : Math.min(1, share)))
      wrong.push(`cluster ${id} is used by ${known}, its nodes by ${share}`);
  }
  return wrong;
}

/** What was handed over is known, and what was told of output is counted. */
function checkHanded({ handed }: State, all: readonly SeenJob[]): string[] {
  const tasks = all.flatMap(({ rows }) => rows);
  const accepted = tasks.filter(({ state: at }) => at.kind === "accepted");
  const known = new Set<unknown>(handed.inOrder());
  const wrong = accepted
    .filter((task) => !known.has(task))
    .map(({ jobId, index }) => `task ${jobId}.${index} was handed over and is not known`);
  if (known.size !== accepted.length) wrong.push(`${known.size} tasks are known to be handed over`);
  const chars = tasks.reduce(
    (sum, { told }) => sum + (told?.stdout.length ?? 0) + (told?.stderr.length ?? 0),
    0,
  );
  if (chars !== handed.toldChars) wrong.push(`${handed.toldChars} characters told, not ${chars}`);
  return wrong;
}

/** The state as a restarted server would read it back from the rows these changes left. */
export function readBack(changes: readonly Change[]): State {
  const rows = new Map<string, string>();
  for (const change of changes) {
    TABLES.encode(change, (key, value) => {
      if (value === undefined) rows.delete(key);
      else rows.set(key, value);
    });
  }
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  const state = new State();
  const load = createRowLoader(state);
  state.startLoading();
  for (const [key, value] of sorted) load(key, value);
  state.finishLoading();
  return state;
}

function graphDigest({ clusters: { graphs } }: State, id: ClusterId): unknown {
  const graph = graphs.graph(id);
  const subsystems = [...graphs.subsystems(id).values()];
  return {
    graph: toJgf(graph),
    subsystems: Object.fromEntries(
      subsystems.map((each) => [each.name, toSubsystemJgf(each, graph)]),
    ),
  };
}

function leftoversOf({ leftovers }: State): unknown {
  const next = leftovers.next(Number.MAX_SAFE_INTEGER);
  return next && { ...next, indexes: next.indexes.toSorted((a, b) => a - b) };
}

/** All that must be equal in two states that hold the same rows. */
export const digest = (state: State): unknown => ({
  jobs: readJobs(state).map(({ job, progress, rows }) => ({
    job,
    progress,
    rows: rows.sort((a, b) => a.index - b.index),
  })),
  nodes: [...state.nodes.values()]
    .map(({ node, used, free, tasks }) => ({
      node,
      used: { ...used },
      // What an agent of a cluster uses it does not have.
      free: node.clusterAgent === undefined ? { ...free } : undefined,
      tasks: tasks.size,
    }))
    .sort((a, b) => (a.node.id < b.node.id ? -1 : 1)),
  clusters: state.clusters.inOrder.map((cluster) => ({
    cluster,
    status: state.clusters.statusOf(cluster.id),
    declared: [...state.clusters.declared(cluster.id).values()],
    graph: state.clusters.graphs.has(cluster.id) ? graphDigest(state, cluster.id) : undefined,
  })),
  credentials: state.credentials.inOrder,
  leftovers: leftoversOf(state),
  facts: [...state.facts].sort(([a], [b]) => (a < b ? -1 : 1)),
  totals: state.totals,
  counter: state.counter,
  ended: state.ended.count,
  endedTasks: state.ended.tasks,
  held: state.holds.size,
});
