import { AppError } from "../../../lib/errors.ts";
import { runToEnd } from "../../../lib/run-to-end.ts";
import { limits } from "../../../limits.ts";
import { mergeState } from "../../graph/cluster-state.ts";
import { relinkAll } from "../../graph/subsystems/link-subsystem.ts";
import type { Cluster } from "../../model/cluster.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";
import { clusterChanged } from "./cluster-changed.ts";
import { checkRevision, type Conditional } from "./if-revision.ts";
import { registeredCredentials, removedWithCluster } from "./credential-rows.ts";
import { failForGood } from "./tasks/end-attempt.ts";
import { leaveCluster } from "./tasks/leave-cluster.ts";

/** Registers a pull cluster, or replaces the graph of one. */
export function registerCluster(
  state: State,
  command: CommandOf<"register-cluster">,
): Decision<undefined> {
  const { id, graph, isUpdate, credentials, by, nowMs } = command;
  const known = state.clusters.get(id);
  checkRevision(`cluster ${id}`, state.clusters.revisionOf(id), command);
  if (known?.kind === "managed") {
    throw new AppError(
      "already_exists",
      `cluster ${id} is managed: its agents report its graph; choose another name`,
    );
  }
  const isRepeated =
    known !== undefined && credentials !== undefined && mayRegisterAgain(state, known, by);
  if (known !== undefined && !isUpdate && !isRepeated) {
    throw new AppError(
      "already_exists",
      `cluster ${id} already exists; --update replaces its graph`,
    );
  }
  if (known !== undefined && credentials !== undefined && !isRepeated) {
    throw new AppError(
      "already_exists",
      `cluster ${id} already exists; new credentials: busbar cluster rotate ${id}`,
    );
  }
  if (known === undefined && state.clusters.rows.size >= limits.clustersMax) {
    throw new AppError("exhausted", `the limit of ${limits.clustersMax} clusters is reached`);
  }
  const changes: Change[] = [];
  if (known === undefined || isRepeated) {
    const row = { id, kind: "pulling", createdAtMs: nowMs, registeredBy: by } as const;
    changes.push({ table: "cluster", row });
  } else changes.push(changedBy(known, by));
  changes.push({ table: "graph", row: { id, graph } });
  if (known !== undefined) changes.push(...relinkedRows(state, command));
  if (credentials !== undefined) {
    changes.push(...registeredCredentials(id, credentials, { by, nowMs }));
  }
  return { changes, answer: undefined };
}

/**
 * When a registration was never answered, its credentials may have reached nobody. The same caller may
 * register again, and gets new ones, as long as the cluster has done nothing.
 */
function mayRegisterAgain(
  state: State,
  { id, registeredBy, changedBy }: Cluster,
  by: string,
): boolean {
  const secret = state.credentials.get({ kind: "cluster-secret", cluster: id });
  const hasDoneNothing =
    changedBy === undefined &&
    !state.clusters.hasStatus(id) &&
    state.acceptedTasks.of(id).length === 0 &&
    !state.nodes.values().some(({ node }) => node.cluster === id);
  return secret?.isUnclaimed === true && registeredBy === by && hasDoneNothing;
}

const changedBy = (cluster: Cluster, by: string): Change => ({
  table: "cluster",
  row: { ...cluster, changedBy: by },
});

/** The subsystems of a cluster, linked to vertices of the same ids in its new graph. */
function relinkedRows(
  { clusters: { graphs } }: State,
  { id, graph, relinked }: CommandOf<"register-cluster">,
): Change[] {
  const before = graphs.subsystems(id);
  const isNewest = relinked?.from === before;
  const { to } = isNewest ? relinked : runToEnd(relinkAll(before, graphs.graph(id), graph));
  return to.map((subsystem) => ({ table: "subsystem", row: { id, subsystem } }));
}

export function requireCluster(state: State, id: ClusterId): Cluster {
  const cluster = state.clusters.get(id);
  if (cluster === undefined) throw new AppError("not_found", `there is no cluster ${id}`);
  return cluster;
}

/** The same, if it has the revision that the command expects. */
function clusterToChange(state: State, id: ClusterId, command: Conditional): Cluster {
  const cluster = requireCluster(state, id);
  checkRevision(`cluster ${id}`, state.clusters.revisionOf(id), command);
  return cluster;
}

/** Removes a cluster with all its data. */
export function removeCluster(
  state: State,
  command: CommandOf<"remove-cluster">,
): Decision<undefined> {
  const { id, by } = command;
  const { kind } = clusterToChange(state, id, command);
  const changes: Change[] = [];
  const nodes = [...state.nodes.values()].filter(({ node }) => node.cluster === id);
  if (nodes.length > 0) {
    const what = kind === "managed" ? `${nodes.length} nodes` : "agents";
    const names = nodes.slice(0, 3).map(({ node }) => node.id);
    throw new AppError(
      "conflict",
      `cluster ${id} has ${what} (${names.join(", ")}${nodes.length > 3 ? ", …" : ""}); remove them first ` +
        `(busbar nodes remove ${names[0] ?? ""}, when its agent has stopped)`,
    );
  }
  if (kind === "managed") {
    for (const name of state.clusters.declared(id).keys()) {
      changes.push({ table: "declared", removed: id, name });
    }
  } else {
    changes.push(...withdrawAll(state, command));
    for (const name of state.clusters.graphs.subsystems(id).keys()) {
      changes.push({ table: "subsystem", removed: id, name });
    }
    changes.push({ table: "graph", removed: id });
  }
  if (state.clusters.hasStatus(id)) changes.push({ table: "status", removed: id });
  changes.push(...removedWithCluster(state, id, by));
  changes.push({ table: "cluster", removed: id, by });
  return { changes, answer: undefined };
}

/**
 * Tasks that were offered to the cluster and not accepted leave it. Accepted tasks end: no report of
 * them can come any more, and a later cluster of the same name does not have them.
 */
function withdrawAll(state: State, command: CommandOf<"remove-cluster">): Change[] {
  const { id, nowMs } = command;
  const offered = state.clusters.loads.offeredTo(id);
  const accepted = state.acceptedTasks.of(id);
  const count = offered.size + accepted.length;
  if (count > limits.changesPerBatchMax) {
    throw new AppError(
      "conflict",
      `${count} tasks are offered to cluster ${id} or accepted by it, too many to end at once; cancel some first`,
    );
  }
  const message = `cluster ${id} was deleted after it accepted the task`;
  return [
    ...Array.from(offered).flatMap((task) => leaveCluster(state, task, command)),
    ...accepted.map((task): Change => ({ table: "task", row: failForGood(task, message, nowMs) })),
  ];
}

export function putSubsystems(
  state: State,
  command: CommandOf<"put-subsystems">,
): Decision<undefined> {
  const { id, subsystems, graph, by } = command;
  const { graphs } = state.clusters;
  const cluster = clusterToChange(state, id, command);
  if (cluster.kind !== "pulling") {
    throw new AppError("conflict", `cluster ${id} got agents during this request; try again`);
  }
  if (graphs.graph(id) !== graph) {
    throw new AppError(
      "conflict",
      `cluster ${id} got another graph during this request; try again`,
    );
  }
  const known = graphs.subsystems(id);
  const added = subsystems.filter(({ name }) => !known.has(name)).length;
  if (added > 0 && known.size + added > limits.subsystemsMax) {
    throw new AppError("exhausted", `cluster ${id} is at its limit of ${known.size} subsystems`);
  }
  const changes = subsystems.map((subsystem): Change => {
    return { table: "subsystem", row: { id, subsystem } };
  });
  return { changes: [...changes, changedBy(cluster, by)], answer: undefined };
}

export function removeSubsystem(
  state: State,
  command: CommandOf<"remove-subsystem">,
): Decision<undefined> {
  const { id, name, by } = command;
  const cluster = clusterToChange(state, id, command);
  const removed = { removed: id, name, by };
  const changed = changedBy(cluster, by);
  if (cluster.kind === "managed") {
    if (state.clusters.declared(id).has(name)) {
      return { changes: [{ table: "declared", ...removed }, changed], answer: undefined };
    }
    throw new AppError(
      "not_found",
      `no subsystem ${name} was added to cluster ${id}; subsystems that its agents report cannot be removed`,
    );
  }
  if (state.clusters.subsystem(id, name) === undefined) {
    throw new AppError("not_found", `cluster ${id} has no subsystem ${name}`);
  }
  return { changes: [{ table: "subsystem", ...removed }, changed], answer: undefined };
}

/** The same as adding a subsystem, for a managed cluster. */
export function declareSoftware(
  state: State,
  command: CommandOf<"declare-software">,
): Decision<undefined> {
  const { row, by } = command;
  const cluster = clusterToChange(state, row.id, command);
  if (cluster.kind === "pulling") {
    throw new AppError(
      "conflict",
      `cluster ${row.id} was registered during this request; try again`,
    );
  }
  const known = state.clusters.declared(row.id);
  if (!known.has(row.name) && known.size >= limits.factsSubsystemsMax) {
    throw new AppError(
      "exhausted",
      `cluster ${row.id} is at its limit of ${known.size} added subsystems`,
    );
  }
  return { changes: [{ table: "declared", row }, changedBy(cluster, by)], answer: undefined };
}

/** Reported keys replace, other keys stay, null removes. */
export function setStatus(state: State, command: CommandOf<"set-status">): Decision<undefined> {
  const { id, patch, counters, by, nowMs } = command;
  const { kind } = clusterToChange(state, id, command);
  if (kind === "managed" && counters !== undefined && counters.length > 0) {
    throw new AppError(
      "conflict",
      `cluster ${id} is managed: its free capacity is known; counters are for pull clusters`,
    );
  }
  const known = state.clusters.statusOf(id);
  const row = {
    id,
    state: mergeState(known.state, patch, nowMs),
    counters: counters ?? known.counters,
    changedBy: by,
  };
  const changed = clusterChanged(state, id);
  return { changes: [{ table: "status", row }, ...changed], answer: undefined };
}
