import { formatDuration } from "../../lib/units.ts";
import type { NodeRow, ProgressRow } from "../rows.ts";
import { partFields, renderSoftware } from "./facts.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderFields, renderTable, type RowKind } from "./table.ts";
import {
  ago,
  amount,
  moment,
  momentColumn,
  pairs,
  progressText,
  stateStyle,
  usage,
} from "./values.ts";

/** These get a column each; all other resources share one column. */
const COMMON = ["cpu", "memory", "gpu"];

type Place = Pick<NodeRow, "used" | "capacity">;

/** For people "used/total" in one column, for programs a column each, in plain numbers. */
const resourceColumn = (title: string, name: string): Column<Place> => ({
  title,
  align: "right",
  value: (place) => usage(name, place),
  csv: ({ capacity }) => String(capacity[name] ?? ""),
});

const usedColumn = (title: string, name: string): Column<Place> => ({
  title,
  align: "right",
  isWide: true,
  value: () => "",
  csv: ({ used, capacity }) => (capacity[name] === undefined ? "" : String(used[name] ?? 0)),
});

export const resourceColumns: readonly Column<Place>[] = [
  resourceColumn("CPU", "cpu"),
  usedColumn("CPU USED", "cpu"),
  resourceColumn("MEMORY", "memory"),
  usedColumn("MEMORY USED", "memory"),
  resourceColumn("GPU", "gpu"),
  usedColumn("GPU USED", "gpu"),
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

export const NODES: RowKind<NodeRow> = {
  plural: "nodes",
  name: ({ name }) => name,
  columns: ({ nowMs }) => [
    { title: "NAME", value: (node) => node.name },
    {
      title: "CLUSTER",
      value: (node) => (node.isClusterAgent ? `all of ${node.cluster}` : node.cluster),
      csv: (node) => node.cluster,
    },
    { title: "STATE", value: (node) => node.state, style: (node) => stateStyle(node.state) },
    { title: "TASKS", align: "right", value: (node) => String(node.tasks) },
    {
      title: "POWER",
      align: "right",
      value: ({ power }) => (power ? `${power.watts} W` : ""),
      csv: ({ power }) => String(power?.watts ?? ""),
    },
    ...resourceColumns,
    momentColumn("SINCE", since, nowMs),
    { title: "LABELS", value: (node) => pairs(node.labels) },
    { title: "REASON", value: nodeReason },
    { title: "HELD", isWide: true, align: "right", value: (node) => String(node.held) },
    { title: "ADDRESS", isWide: true, value: (node) => node.address ?? "" },
    { title: "AGENT", isWide: true, value: (node) => node.agentVersion ?? "" },
    { title: "WHEN LOST", isWide: true, value: (node) => node.onLost ?? "requeue" },
    { title: "CHANGED BY", isWide: true, value: (node) => node.changedBy ?? "" },
  ],
};

export const renderNodes = (nodes: readonly NodeRow[], page: TerminalPage): string =>
  renderTable(NODES.columns(page), nodes, page);

/** Why it accepts no tasks, and what happens to its tasks. */
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
  return `${by} ${clockOffsetMs > 0 ? "ahead of" : "behind"} the server's; synchronise it`;
}

const LOSSES: Readonly<Record<string, string>> = {
  keep: "keep: its tasks wait until it returns",
  fail: "fail: its tasks fail without another attempt",
};

const since = (node: NodeRow): number | undefined =>
  isAway(node) ? node.disconnectedAtMs : node.connectedAtMs;

/** "12 of at most 16, for its last tasks took 3 ms each"; empty: it holds none. */
function heldText({ held, heldMax = 0, taskMsMean = 0 }: NodeRow): string {
  if (held + heldMax === 0) return "";
  return `${held} of at most ${heldMax}: its last tasks took ${Math.round(taskMsMean)} ms each`;
}

/** Tasks of a node, for the view of it. */
interface TaskHere {
  readonly id: string;
  readonly jobName: string;
  readonly state: string;
  readonly startedAtMs?: number;
  readonly progress?: ProgressRow;
  readonly reason?: string;
}

function renderTasksHere(
  { tasks, held }: NodeRow,
  here: readonly TaskHere[],
  page: TerminalPage,
): readonly string[] {
  if (here.length === 0) return [];
  const columns: readonly Column<TaskHere>[] = [
    { title: "TASK", align: "right", value: ({ id }) => id },
    { title: "JOB", value: ({ jobName }) => jobName },
    {
      title: "STATE",
      value: ({ state }) => (state === "held" ? "held ahead" : state),
      style: ({ state }) => stateStyle(state),
    },
    momentColumn("STARTED", (task) => task.startedAtMs, page.nowMs),
    { title: "PROGRESS", value: progressText },
    { title: "REASON", value: ({ reason }) => reason ?? "" },
  ];
  const more = tasks + held - here.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [[renderTable(columns, here, page), ...rest].join("\n")];
}

export function renderNode(
  node: NodeRow,
  page: TerminalPage,
  here: readonly TaskHere[] = [],
): string {
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
      [node.isClusterAgent ? "Agent of" : "Cluster", node.cluster],
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
  return [
    fields,
    ...renderTasksHere(node, here, page),
    ...(software === "" ? [] : [software]),
  ].join("\n\n");
}
