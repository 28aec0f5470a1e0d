import { countsText } from "../render/jobs.ts";
import { nodeReason } from "../render/nodes.ts";
import { cut, type TerminalPage } from "../render/page.ts";
import { type Column, renderFields, renderTable } from "../render/table.ts";
import { amount, elapsed, stateStyle, usage } from "../render/values.ts";
import type { GroupRow, JobRow, NodeRow } from "../rows.ts";
import type { TopFrame } from "./read-top.ts";

/** The sort keys of nodes; the key on the keyboard is the first letter. */
export const topOrders = ["cpu", "memory", "tasks", "name"] as const;
export type TopOrder = (typeof topOrders)[number];

/** The maximum of shown reasons, groups and jobs; nodes get the rest of the screen. */
const REASONS_SHOWN = 3;
const GROUPS_SHOWN = 5;
const JOBS_SHOWN = 5;
const NODES_SHOWN_MIN = 3;

export interface TopView {
  readonly order: TopOrder;
  /** The available lines; undefined: unlimited. */
  readonly rows: number | undefined;
}

export function renderTop(frame: TopFrame, view: TopView, page: TerminalPage): string {
  const busy = busiestJobs(frame.jobs);
  const sections = [
    renderTotals(frame, page),
    ...(frame.groups.length > 1 ? [renderTable(groupColumns, busiestGroups(frame), page)] : []),
    ...(busy.length > 0 ? [renderTable(jobColumns(page.nowMs), busy, page)] : []),
  ];
  const used = sections.reduce((sum, text) => sum + text.split("\n").length + 1, 0);
  const left = view.rows === undefined ? Infinity : view.rows - used - 2;
  const nodes = sorted(frame.nodes, view.order);
  const shown = nodes.slice(0, Math.max(NODES_SHOWN_MIN, left));
  const total = Object.values(frame.stats.nodes).reduce((sum, count) => sum + count, 0);
  const more = total - shown.length;
  const rest = [
    ...(more > 0 ? [`and ${more} more nodes`] : []),
    ...(frame.moreNodes ? [`(of the first ${frame.nodes.length} by name)`] : []),
  ].join(" ");
  return [
    ...sections,
    shown.length === 0
      ? "no nodes"
      : [renderTable(nodeColumns, shown, page), ...(rest === "" ? [] : [rest])].join("\n"),
  ].join("\n\n");
}

function renderTotals(frame: TopFrame, page: TerminalPage): string {
  const { stats, pending, waits } = frame;
  const rates = `${rate(frame.endsPerSecond)} ended/s, ${rate(frame.placementsPerSecond)} placed/s`;
  const reasons = pending
    .slice(0, REASONS_SHOWN)
    .map(({ reason, tasks }): [string, string] => [
      "  because",
      cut(`${tasks}: ${reason}`, page.width ?? 200),
    ]);
  const parts = [
    ...(waits.longestMs === undefined ? [] : [`pending for up to ${elapsed(waits.longestMs)}`]),
    ...(waits.medianMs === undefined ? [] : [`running jobs waited ${elapsed(waits.medianMs)}`]),
  ];
  return renderFields(
    [
      ["Server", `${frame.server}, up ${elapsed(stats.uptimeMs)}`],
      ["Tasks", `${countsText(unended(stats.tasks)) || "none"}; ${rates}`],
      ...reasons,
      ["Waits", parts.join(", ")],
      ["Nodes", countsText(stats.nodes) || "none"],
      [
        "In use",
        Object.keys(stats.capacity)
          .sort()
          .map((name) => `${name} ${usage(name, stats)}`)
          .join(", "),
      ],
    ],
    page,
  );
}

const ENDED: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
]);

const unended = (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(counts).filter(([state]) => !ENDED.has(state)));

const rate = (perSecond: number): string =>
  perSecond >= 10 ? String(Math.round(perSecond)) : perSecond.toFixed(1);

const share = ({ used, capacity }: NodeRow, name: string): number =>
  (used[name] ?? 0) / (capacity[name] ?? Infinity);

function sorted(nodes: readonly NodeRow[], order: TopOrder): readonly NodeRow[] {
  if (order === "name") return nodes;
  const weight = (node: NodeRow): number => (order === "tasks" ? node.tasks : share(node, order));
  return [...nodes].sort((a, b) => weight(b) - weight(a));
}

const free = (name: string, { used, capacity }: NodeRow): string =>
  capacity[name] === undefined ? "" : amount(name, (capacity[name] ?? 0) - (used[name] ?? 0));

const nodeColumns: readonly Column<NodeRow>[] = [
  { title: "NODE", value: ({ name }) => name },
  { title: "STATE", value: ({ state }) => state, style: ({ state }) => stateStyle(state) },
  {
    title: "TASKS",
    align: "right",
    value: ({ tasks, held }) => (held > 0 ? `${tasks}+${held}` : `${tasks}`),
  },
  { title: "CPU", align: "right", value: (node) => usage("cpu", node) },
  { title: "FREE", align: "right", value: (node) => free("cpu", node) },
  { title: "MEMORY", align: "right", value: (node) => usage("memory", node) },
  { title: "FREE", align: "right", value: (node) => free("memory", node) },
  { title: "REASON", value: nodeReason },
];

const load = ({ tasks }: GroupRow): number => tasks.running + tasks.assigned + tasks.pending;

const busiestGroups = ({ groups }: TopFrame): readonly GroupRow[] =>
  [...groups].sort((a, b) => load(b) - load(a)).slice(0, GROUPS_SHOWN);

const groupColumns: readonly Column<GroupRow>[] = [
  { title: "GROUP", value: ({ name }) => name },
  { title: "RUNNING", align: "right", value: ({ tasks }) => String(tasks.running) },
  { title: "PENDING", align: "right", value: ({ tasks }) => String(tasks.pending + tasks.waiting) },
  { title: "CPU", align: "right", value: ({ used }) => amount("cpu", used["cpu"] ?? 0) },
  { title: "MEMORY", align: "right", value: ({ used }) => amount("memory", used["memory"] ?? 0) },
];

const busiestJobs = (jobs: readonly JobRow[]): readonly JobRow[] =>
  [...jobs].sort((a, b) => b.tasks.running - a.tasks.running).slice(0, JOBS_SHOWN);

const jobColumns = (nowMs: number): readonly Column<JobRow>[] => [
  { title: "JOB", align: "right", value: ({ id }) => id },
  { title: "NAME", value: ({ spec }) => spec.name },
  { title: "USER", value: ({ submittedBy }) => submittedBy },
  { title: "GROUP", value: ({ spec }) => spec.group },
  { title: "RUNNING", align: "right", value: ({ tasks }) => String(tasks.running) },
  { title: "PENDING", align: "right", value: ({ tasks }) => String(tasks.pending + tasks.waiting) },
  {
    title: "TIME",
    align: "right",
    value: ({ startedAtMs }) => (startedAtMs === undefined ? "" : elapsed(nowMs - startedAtMs)),
  },
];
