import type { AgentRow, ClusterRow, IssuedRow, StateRow, SubsystemRow } from "../rows.ts";
import { resourceColumns } from "./nodes.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderFields, renderTable, type RowKind } from "./table.ts";
import { ago, amount, moment, momentColumn, stateStyle } from "./values.ts";

export const CLUSTERS: RowKind<ClusterRow> = {
  plural: "clusters",
  name: ({ name }) => name,
  columns: ({ nowMs }) => [
    { title: "NAME", value: (cluster) => cluster.name },
    { title: "KIND", value: (cluster) => cluster.kind },
    {
      title: "CONNECTED",
      align: "right",
      value: (cluster) => connected(cluster),
      csv: (cluster) => String(cluster.nodesConnected),
      style: (cluster) => (cluster.nodesConnected < cluster.nodes ? "yellow" : undefined),
    },
    { title: "TASKS", align: "right", value: (cluster) => String(cluster.tasks) },
    ...resourceColumns,
    { title: "GRAPH", value: (cluster) => renderVertices(cluster.vertices) },
    { title: "SUBSYSTEMS", value: (cluster) => names(cluster) },
    { ...momentColumn<ClusterRow>("SINCE", (cluster) => cluster.createdAtMs, nowMs), isWide: true },
    { title: "REGISTERED BY", isWide: true, value: (cluster) => cluster.registeredBy ?? "" },
    { title: "CHANGED BY", isWide: true, value: (cluster) => cluster.changedBy ?? "" },
  ],
};

export const renderClusters = (clusters: readonly ClusterRow[], page: TerminalPage): string =>
  renderTable(CLUSTERS.columns(page), clusters, page);

/** Connected nodes, or for a pull cluster its agents: it may have none. */
const connected = ({ kind, nodes, nodesConnected }: ClusterRow): string =>
  kind === "pulling" && nodes === 0 ? "" : `${nodesConnected}/${nodes}`;

const names = ({ subsystems }: ClusterRow): string => subsystems.map(({ name }) => name).join(", ");

/** "36 core, 3 node". */
export const renderVertices = (vertices: Readonly<Record<string, number>> = {}): string =>
  Object.entries(vertices)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, count]) => `${count} ${type}`)
    .join(", ");

export function renderCluster(cluster: ClusterRow, page: TerminalPage): string {
  const { createdAtMs, agents = [], subsystems, state } = cluster;
  const resources = Object.keys(cluster.capacity)
    .sort()
    .map((name): [string, string] => [
      name,
      `${amount(name, cluster.used[name] ?? 0)} used of ${amount(name, cluster.capacity[name] ?? 0)}`,
    ]);
  const fields = renderFields(
    [
      ["Cluster", cluster.name],
      ["Kind", cluster.kind],
      ["Since", `${moment(createdAtMs)} (${ago(createdAtMs, page.nowMs)})`],
      ["Registered by", cluster.registeredBy ?? ""],
      ["Changed by", cluster.changedBy ?? ""],
      ["State set by", cluster.stateChangedBy ?? ""],
      [cluster.kind === "pulling" ? "Agents connected" : "Nodes connected", connected(cluster)],
      ["Tasks", String(cluster.tasks)],
      ...resources,
      ["Graph", renderVertices(cluster.vertices)],
      ["Secret", since(cluster.credentials?.secretSinceMs, page)],
      ["Token", since(cluster.credentials?.tokenSinceMs, page)],
    ],
    page,
  );
  return [
    fields,
    ...(agents.length === 0 ? [] : [renderAgents(agents, page)]),
    ...(subsystems.length === 0 ? [] : [renderSubsystems(subsystems, page)]),
    ...(state.length === 0 ? [] : [renderState(cluster, page)]),
  ].join("\n\n");
}

const since = (atMs: number | undefined, page: TerminalPage): string =>
  atMs === undefined ? "" : `since ${moment(atMs)} (${ago(atMs, page.nowMs)})`;

/** Credentials that the server never shows again. */
export const renderIssued = ({ secret = "", token = "" }: IssuedRow, page: TerminalPage): string =>
  renderFields(
    [
      ["Secret", secret],
      ["Token", token],
    ],
    page,
  );

function renderAgents(agents: readonly AgentRow[], page: TerminalPage): string {
  const columns: readonly Column<AgentRow>[] = [
    { title: "AGENT", value: ({ name }) => name },
    { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
    { title: "TASKS", align: "right", value: ({ tasks }) => String(tasks) },
    { title: "SINCE", value: ({ sinceMs }) => ago(sinceMs, page.nowMs) },
  ];
  return renderTable(columns, agents, page);
}

const subsystemColumns: readonly Column<SubsystemRow>[] = [
  { title: "SUBSYSTEM", value: ({ name }) => name },
  { title: "VERTICES", align: "right", value: ({ vertices }) => String(vertices) },
  { title: "LINKS", align: "right", value: ({ links }) => String(links) },
];

export const SUBSYSTEMS: RowKind<SubsystemRow> = {
  plural: "subsystems",
  name: ({ name }) => name,
  columns: () => subsystemColumns,
};

export const renderSubsystems = (subsystems: readonly SubsystemRow[], page: TerminalPage): string =>
  renderTable(subsystemColumns, subsystems, page);

type Told = Pick<ClusterRow, "state" | "counters">;

/** Keys with their age; for a counter without a reported value only that it counts. */
export function renderState({ state, counters }: Told, page: TerminalPage): string {
  const by = new Map(counters.map((counter) => [counter.key, counter.by]));
  const told = new Set(state.map(({ key }) => key));
  const rows: readonly (Pick<StateRow, "key"> & Partial<StateRow>)[] = [
    ...state,
    ...[...by.keys()].filter((key) => !told.has(key)).map((key) => ({ key })),
  ];
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: "KEY", value: ({ key }) => key },
    { title: "VALUE", value: ({ value }) => (value === undefined ? "" : JSON.stringify(value)) },
    { title: "TOLD", value: ({ setAtMs }) => ago(setAtMs, page.nowMs) },
    { title: "GOES DOWN BY", value: ({ key }) => by.get(key) ?? "" },
  ];
  return renderTable(columns, rows, page);
}
