import type {
  Cluster,
  IssuedCredentials,
  Node,
  SatisfyResponse,
  StateEntry,
} from "../../client/messages.ts";
import type * as Rows from "../rows.ts";

/** What the wire says about clusters, as the rows that `--output json` promises and tables show. */
export function toClusterRow(cluster: Cluster): Rows.ClusterRow {
  const isRegistered = cluster.kind === "pulling";
  const hasState = cluster.state.length > 0 || cluster.counters.length > 0;
  return {
    name: cluster.name,
    kind: cluster.kind,
    createdAtMs: Number(cluster.createdAtMs),
    nodes: cluster.nodes,
    nodesConnected: cluster.nodesConnected,
    capacity: { ...cluster.capacity },
    used: { ...cluster.used },
    tasks: cluster.tasks,
    ...(isRegistered
      ? { vertices: { ...cluster.vertices }, subsystems: cluster.subsystems.map(toSubsystemRow) }
      : {}),
    ...(isRegistered || hasState
      ? {
          state: cluster.state.map(toStateRow),
          counters: cluster.counters.map(({ key, by }) => ({ key, by })),
        }
      : {}),
    ...credentialsOf(cluster),
  };
}

function credentialsOf({
  credentials,
  issued,
}: Cluster): Pick<Rows.ClusterRow, "credentials" | "issued"> {
  const times = {
    ...(credentials?.secretSinceMs ? { secretSinceMs: Number(credentials.secretSinceMs) } : {}),
    ...(credentials?.tokenSinceMs ? { tokenSinceMs: Number(credentials.tokenSinceMs) } : {}),
  };
  return {
    ...(Object.keys(times).length === 0 ? {} : { credentials: times }),
    ...(issued === undefined ? {} : { issued: toIssuedRow(issued) }),
  };
}

export const toIssuedRow = ({ secret, token }: IssuedCredentials): Rows.IssuedRow => ({
  ...(secret === "" ? {} : { secret }),
  ...(token === "" ? {} : { token }),
});

/** Since when it is there, or away. */
export function toAgentRow(node: Node): Rows.AgentRow {
  const isAway = node.state === "disconnected" || node.state === "lost";
  const sinceMs = Number(isAway ? node.disconnectedAtMs : node.connectedAtMs);
  const { name, state, tasks } = node;
  return { name, state, tasks, ...(sinceMs === 0 ? {} : { sinceMs }) };
}

const toSubsystemRow = ({
  name,
  vertices,
  links,
}: Cluster["subsystems"][number]): Rows.SubsystemRow => ({
  name,
  vertices: Number(vertices),
  links: Number(links),
});

const toStateRow = ({ key, value, setAtMs }: StateEntry): Rows.StateRow => ({
  key,
  value: value?.value.value ?? "",
  setAtMs: Number(setAtMs),
});

export function toSatisfyRow(answer: SatisfyResponse): Rows.SatisfyRow {
  const { selection } = answer;
  return {
    satisfied: answer.ever.length > 0,
    ever: [...answer.ever],
    now: [...answer.now],
    tasks: answer.tasks.map(({ name, clusters }) => ({
      name,
      clusters: clusters.map(({ cluster, kind, ever, now, slots, alternative, reasons }) => ({
        cluster,
        kind,
        ever,
        now,
        slots: Number(slots),
        alternative,
        reasons: [...reasons],
      })),
    })),
    ...(selection === undefined ? {} : { selection: toSelectionRow(selection) }),
  };
}

const toSelectionRow = ({
  strategy,
  chosen,
  ranked,
  dropped,
}: NonNullable<SatisfyResponse["selection"]>): Rows.SelectionRow => ({
  strategy,
  ...(chosen === "" ? {} : { chosen }),
  ranked: [...ranked],
  dropped: dropped.map(({ name, reason }) => ({ name, reason })),
});
