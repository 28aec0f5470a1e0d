import { nodeStateName } from "../../model/node/node.ts";
import { addInto } from "../../model/resources.ts";
import { isActive } from "../../model/job/task.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** The resources that nodes hold equal those of their tasks, and do not exceed the capacity. */
export function checkNodes(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const usedByNode = new Map<string, Record<string, number>>();
  const portsByNode = new Map<string, Set<number>>();
  /** Tasks there began in the place of others, whose ends may not be reported yet. */
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
      const { port } = job.spec.where;
      if (port !== undefined) {
        const ports = portsByNode.get(task.state.nodeId) ?? new Set();
        if (ports.has(port)) wrong.push(`node ${task.state.nodeId} has two tasks on port ${port}`);
        portsByNode.set(task.state.nodeId, ports.add(port));
      }
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
    const ports = [...(portsByNode.get(node.id) ?? [])].sort((a, b) => a - b);
    if (!isDeepEqual(record.ports.all, ports) || !isDeepEqual(state.ledger.portsOn(node.id), ports))
      wrong.push(`node ${node.id} has ports ${record.ports.all.join()}, its tasks ${ports.join()}`);
    for (const name of new Set([...Object.keys(used), ...Object.keys(want)])) {
      if (used[name] !== want[name]) {
        wrong.push(`node ${node.id} uses ${used[name]} ${name}, its tasks ${want[name]}`);
      }
      const inLedger = state.ledger.heldOn(node.id)[name] ?? 0;
      if (inLedger !== (want[name] ?? 0))
        wrong.push(`node ${node.id} holds ${inLedger} ${name} in the ledger, not ${want[name]}`);
      // The agent of a cluster accepts as much as it has capacity for, and one of a site may accept
      // fewer shares than it has.
      const isOwnBusiness = node.clusterAgent !== undefined || node.power?.site !== undefined;
      const isJudged = !isOwnBusiness && !begunOn.has(node.id);
      if (isJudged && (want[name] ?? 0) > (node.capacity[name] ?? 0)) {
        wrong.push(`node ${node.id} is overcommitted: ${want[name]} ${name}`);
      }
    }
  }
  return wrong;
}

/** The running tallies of nodes equal a count of all of them. */
export function checkNodeTotals(state: State): string[] {
  const { states, capacity, used } = state.nodeTotals;
  const known = { states, capacity, used };
  const zero = Object.fromEntries(Object.keys(states).map((name) => [name, 0]));
  const found = { states: zero, capacity: {}, used: {} };
  for (const { node, tasks, held, used: its } of state.nodes.values()) {
    const name = nodeStateName(node, tasks.size + held.size);
    found.states[name] = (found.states[name] ?? 0) + 1;
    if (node.link.kind !== "connected") continue;
    addInto(found.capacity, node.capacity);
    addInto(found.used, its);
  }
  const wrong: string[] = [];
  if (!isDeepEqual(found, known)) {
    wrong.push(`nodes count as ${JSON.stringify(known)} and are ${JSON.stringify(found)}`);
  }
  const listed = state.nodesByName.all.map(({ node }) => node.id);
  if (!isDeepEqual([...state.nodes.keys()].sort(), listed)) {
    wrong.push(`nodes are listed as ${listed.join(" ")}`);
  }
  return wrong;
}

/** Facts belong to existing nodes, and do not exceed what the nodes offer. */
export function checkFacts(state: State): string[] {
  return [...state.facts].flatMap(([id, facts]) => {
    const capacity = state.nodes.get(id)?.node.capacity;
    if (capacity === undefined) return [`there are facts of ${id}, which is no node`];
    const { cpu = 0, memory = 0, gpu = 0 } = capacity;
    const offered = facts.cores * 1_000 <= cpu && facts.memoryBytes <= memory && facts.gpus <= gpu;
    return offered ? [] : [`the facts of ${id} promise more than it offers`];
  });
}

/** The index of quarantined nodes is right, and each trial is a task that still runs there. */
export function checkQuarantined({ nodes, fleet }: State): string[] {
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

export function checkDisconnected({ nodes, disconnected }: State): string[] {
  const away = [...nodes.values()].filter(({ node }) => node.link.kind === "disconnected");
  const isSame = away.length === disconnected.size && away.every((one) => disconnected.has(one));
  return isSame ? [] : [`${disconnected.size} nodes are disconnected, not ${away.length}`];
}
