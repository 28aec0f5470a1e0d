import type { NodeRow } from "../rows.ts";
import { partFields, renderSoftware } from "./facts.ts";
import type { Page } from "./page.ts";
import { type Column, renderFields, renderTable } from "./table.ts";
import { ago, amount, moment, pairs, stateStyle, usage } from "./values.ts";

/** These get a column each; any other resource is shown in one column together. */
const COMMON = ["cpu", "memory", "gpu"];

type Place = Pick<NodeRow, "used" | "capacity">;

export const resourceColumns: readonly Column<Place>[] = [
  { title: "CPU", align: "right", value: (place) => usage("cpu", place) },
  { title: "MEMORY", align: "right", value: (place) => usage("memory", place) },
  { title: "GPU", align: "right", value: (place) => usage("gpu", place) },
  {
    title: "OTHER",
    value: (place) =>
      Object.keys(place.capacity)
        .filter((name) => !COMMON.includes(name))
        .sort()
        .map((name) => `${name} ${usage(name, place)}`)
        .join(", "),
  },
];

export function renderNodes(nodes: readonly NodeRow[], page: Page): string {
  const columns: readonly Column<NodeRow>[] = [
    { title: "NAME", value: (node) => node.name },
    {
      title: "CLUSTER",
      value: (node) => (node.isClusterAgent === true ? `all of ${node.cluster}` : node.cluster),
    },
    { title: "STATE", value: (node) => node.state, style: (node) => stateStyle(node.state) },
    { title: "TASKS", align: "right", value: (node) => String(node.tasks) },
    ...resourceColumns,
    { title: "SINCE", value: (node) => ago(since(node), page.nowMs) },
    { title: "LABELS", value: (node) => pairs(node.labels) },
    { title: "REASON", value: nodeReason },
  ];
  return renderTable(columns, nodes, page);
}

/** Why it takes no tasks. */
export const nodeReason = ({ drainReason, sickness, quarantine }: NodeRow): string =>
  [drainReason, sickness, quarantine].filter((reason) => reason !== undefined).join("; ");

const since = (node: NodeRow): number | undefined =>
  node.state === "disconnected" || node.state === "lost"
    ? node.disconnectedAtMs
    : node.connectedAtMs;

export function renderNode(node: NodeRow, page: Page): string {
  const at = (ms: number | undefined) =>
    ms === undefined ? "" : `${moment(ms)} (${ago(ms, page.nowMs)})`;
  const resources = Object.keys(node.capacity)
    .sort()
    .map((name): [string, string] => [
      name,
      `${amount(name, node.used[name] ?? 0)} used of ${amount(name, node.capacity[name] ?? 0)}`,
    ]);
  const fields = renderFields(
    [
      ["Node", node.name],
      [node.isClusterAgent === true ? "Speaks for" : "Cluster", node.cluster],
      ["State", node.state, stateStyle(node.state)],
      ["Drained because", node.drainReason ?? ""],
      ["Unhealthy because", node.sickness ?? ""],
      ["Unhealthy since", at(node.sickAtMs)],
      ["Quarantined because", node.quarantine ?? ""],
      ["Quarantined since", at(node.quarantinedAtMs)],
      ["Gets a task at", node.probeAtMs === undefined ? "" : moment(node.probeAtMs)],
      ["Tasks", String(node.tasks)],
      ...resources,
      ...(node.facts === undefined ? [] : partFields(node.facts)),
      ["Labels", pairs(node.labels)],
      ["Connected", at(node.connectedAtMs)],
      ["Disconnected", at(node.disconnectedAtMs)],
      ["Address", node.address ?? ""],
      ["Agent", node.agentVersion ?? ""],
    ],
    page,
  );
  const software = node.facts === undefined ? "" : renderSoftware(node.facts, page);
  return software === "" ? fields : `${fields}\n\n${software}`;
}
