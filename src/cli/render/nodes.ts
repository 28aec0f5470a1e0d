import { formatDuration } from "../../lib/units.ts";
import type { NodeRow } from "../rows.ts";
import { partFields, renderSoftware } from "./facts.ts";
import type { TerminalPage } from "./page.ts";
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

export function renderNodes(nodes: readonly NodeRow[], page: TerminalPage): string {
  const columns: readonly Column<NodeRow>[] = [
    { title: "NAME", value: (node) => node.name },
    {
      title: "CLUSTER",
      value: (node) => (node.isClusterAgent ? `all of ${node.cluster}` : node.cluster),
    },
    { title: "STATE", value: (node) => node.state, style: (node) => stateStyle(node.state) },
    { title: "TASKS", align: "right", value: (node) => String(node.tasks) },
    { title: "POWER", align: "right", value: ({ power }) => (power ? `${power.watts} W` : "") },
    ...resourceColumns,
    { title: "SINCE", value: (node) => ago(since(node), page.nowMs) },
    { title: "LABELS", value: (node) => pairs(node.labels) },
    { title: "REASON", value: nodeReason },
  ];
  return renderTable(columns, nodes, page);
}

/** Why it takes no tasks, and what becomes of those that it has. */
export const nodeReason = (node: NodeRow): string =>
  [node.drainReason, node.sickness, node.quarantine, keeping(node)]
    .filter((reason) => reason !== undefined)
    .join("; ");

const isAway = ({ state }: NodeRow): boolean => state === "disconnected" || state === "lost";

function keeping(node: NodeRow): string | undefined {
  if (!isAway(node) || node.onLost !== "keep" || node.tasks === 0) return undefined;
  return `keeps ${node.tasks === 1 ? "its task" : `its ${node.tasks} tasks`} until it returns`;
}

function clockOf({ clockOffsetMs = 0 }: NodeRow): string {
  if (clockOffsetMs === 0) return "";
  const by = formatDuration(Math.abs(clockOffsetMs));
  return `${by} ${clockOffsetMs > 0 ? "ahead of" : "behind"} the server's; set it right`;
}

const LOSSES: Readonly<Record<string, string>> = {
  keep: "keep: its tasks wait for it, however long",
  fail: "fail: its tasks fail, without another attempt",
};

const since = (node: NodeRow): number | undefined =>
  isAway(node) ? node.disconnectedAtMs : node.connectedAtMs;

/** "12 of at most 16, for its last tasks took 3 ms each"; empty: it holds none. */
function heldText({ held, heldMax = 0, taskMsMean = 0 }: NodeRow): string {
  if (held + heldMax === 0) return "";
  return `${held} of at most ${heldMax}: its last tasks took ${Math.round(taskMsMean)} ms each`;
}

export function renderNode(node: NodeRow, page: TerminalPage): string {
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
      [node.isClusterAgent ? "Speaks for" : "Cluster", node.cluster],
      ["State", node.state, stateStyle(node.state)],
      ["Drained because", node.drainReason ?? ""],
      ["Drained by", node.drainedBy ?? ""],
      ["Changed by", node.drainedBy === node.changedBy ? "" : (node.changedBy ?? "")],
      ["Unhealthy because", node.sickness ?? ""],
      ["Unhealthy since", at(node.sickAtMs)],
      ["Quarantined because", node.quarantine ?? ""],
      ["Quarantined since", at(node.quarantinedAtMs)],
      ["Gets a task at", node.probeAtMs === undefined ? "" : moment(node.probeAtMs)],
      ["Tasks", String(node.tasks)],
      ["Held ahead", heldText(node)],
      ...resources,
      ...(node.facts === undefined ? [] : partFields(node.facts)),
      ["Labels", pairs(node.labels)],
      ["Connected", at(node.connectedAtMs)],
      ["Last heard", at(node.disconnectedAtMs)],
      ["Clock", clockOf(node)],
      ["When lost", LOSSES[node.onLost ?? ""] ?? node.onLost ?? ""],
      ["Lost after", node.lostAfterMs === undefined ? "" : formatDuration(node.lostAfterMs)],
      ["Address", node.address ?? ""],
      ["Agent", node.agentVersion ?? ""],
    ],
    page,
  );
  const software = node.facts === undefined ? "" : renderSoftware(node.facts, page);
  return software === "" ? fields : `${fields}\n\n${software}`;
}
