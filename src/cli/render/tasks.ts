import type { PastRow, TaskRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderFields, renderTable, type RowKind } from "./table.ts";
import {
  ago,
  cpuTimeColumn,
  elapsed,
  maxMemoryColumn,
  moment,
  momentColumn,
  progressText,
  stateStyle,
  took,
  tookColumn,
  usageFields,
} from "./values.ts";

/** A task with a node need not show its cluster; a task offered to a cluster has no node. */
const isOffered = ({ node, cluster }: TaskRow): boolean =>
  node === undefined && cluster !== undefined;

export const TASKS: RowKind<TaskRow> = {
  plural: "tasks",
  name: ({ id }) => id,
  columns: (page) => taskColumns(page, false),
};

const taskColumns = (
  { nowMs, isWide }: TerminalPage,
  hasOffered: boolean,
): readonly Column<TaskRow>[] => [
  { title: "TASK", align: "right", value: (task) => task.id },
  { title: "STATE", value: (task) => task.state, style: (task) => stateStyle(task.state) },
  {
    title: "ATTEMPT",
    align: "right",
    value: ({ attempt }) => (attempt > 0 ? `${attempt}` : ""),
  },
  { title: "NODE", value: (task) => task.node ?? "" },
  {
    title: "CLUSTER",
    value: (task) => (hasOffered || isWide === true ? (task.cluster ?? "") : ""),
    csv: (task) => task.cluster ?? "",
  },
  { title: "SHARE", align: "right", value: shareText },
  momentColumn("STARTED", (task) => task.startedAtMs, nowMs),
  tookColumn(nowMs),
  { title: "PROGRESS", value: progressText },
  cpuTimeColumn("CPU"),
  maxMemoryColumn("MEMORY"),
  { title: "EXIT", align: "right", value: exit },
  { title: "REASON", value: (task) => reasonOf(task, nowMs) },
  { ...momentColumn<TaskRow>("ASSIGNED", (task) => task.assignedAtMs, nowMs), isWide: true },
  { ...momentColumn<TaskRow>("ENDED", (task) => task.endedAtMs, nowMs), isWide: true },
  { title: "FAILURE", isWide: true, value: (task) => task.failure ?? "" },
  { title: "RESTARTS", isWide: true, align: "right", value: (task) => String(task.restarts ?? "") },
];

export const renderTasks = (tasks: readonly TaskRow[], page: TerminalPage): string =>
  renderTable(taskColumns(page, tasks.some(isOffered)), tasks, page);

const shareText = ({ share }: TaskRow): string =>
  share === undefined ? "" : `${share.wattSeconds} Ws`;

/** The signal's name is clearer than the code that a shell would return. */
const exit = (row: { readonly exitCode?: number; readonly signal?: string }): string =>
  row.signal ?? (row.exitCode === undefined ? "" : String(row.exitCode));

/** "restarts: exited with code 1, 4th time; in 12s" */
function reasonOf(task: TaskRow, nowMs: number): string {
  const isWaiting = task.state === "waiting" && task.reason !== undefined;
  const isLater = task.notBeforeMs !== undefined && task.notBeforeMs > nowMs;
  if (!isWaiting || !isLater) return task.reason ?? notBefore(task, nowMs);
  return `${task.reason}; in ${elapsed((task.notBeforeMs ?? nowMs) - nowMs)}`;
}

const notBefore = (task: TaskRow, nowMs: number): string =>
  task.state !== "waiting" || task.notBeforeMs === undefined || task.notBeforeMs <= nowMs
    ? ""
    : `tried again in ${elapsed(task.notBeforeMs - nowMs)}`;

export function renderTask(task: TaskRow, page: TerminalPage): string {
  const at = (ms: number | undefined) =>
    ms === undefined ? "" : `${moment(ms)} (${ago(ms, page.nowMs)})`;
  const fields = renderFields(
    [
      ["Task", task.id],
      ["State", task.state, stateStyle(task.state)],
      ["Reason", reasonOf(task, page.nowMs)],
      ["Exit", exit(task)],
      ["Attempt", task.attempt > 0 ? String(task.attempt) : ""],
      ["Restarts", task.restarts === undefined ? "" : String(task.restarts)],
      ["Node", task.node ?? ""],
      ["Cluster", task.cluster ?? ""],
      ["Assigned", at(task.assignedAtMs)],
      ["Started", at(task.startedAtMs)],
      ["Ended", at(task.endedAtMs)],
      ["Took", took(task, page.nowMs)],
      ["Progress", progressText(task)],
      ["Share", shareText(task)],
      ["Done", task.share === undefined ? "" : `${task.share.doneWattSeconds} Ws`],
      ...usageFields(task),
    ],
    page,
  );
  return task.past.length === 0 ? fields : `${fields}\n\n${renderPast(task.past, page)}`;
}

export function renderPast(past: readonly PastRow[], page: TerminalPage): string {
  const columns: readonly Column<PastRow>[] = [
    { title: "EARLIER ATTEMPT", align: "right", value: (row) => String(row.attempt) },
    { title: "NODE", value: (row) => row.node ?? "" },
    { title: "STARTED", value: (row) => ago(row.startedAtMs, page.nowMs) },
    { title: "TOOK", align: "right", value: (row) => took(row, page.nowMs) },
    cpuTimeColumn("CPU"),
    maxMemoryColumn("MEMORY"),
    { title: "EXIT", align: "right", value: exit },
    { title: "REASON", value: (row) => row.reason ?? "" },
  ];
  return renderTable(columns, past, page);
}
