import type { PastRow, TaskRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderFields, renderTable } from "./table.ts";
import {
  ago,
  cpuTime,
  elapsed,
  maxMemory,
  moment,
  progressText,
  stateStyle,
  took,
  usageFields,
} from "./values.ts";

export function renderTasks(tasks: readonly TaskRow[], page: TerminalPage): string {
  // A node is of one cluster, which it need not tell; what is offered to a cluster has no node.
  const isOffered = tasks.some(({ node, cluster }) => node === undefined && cluster !== undefined);
  const columns: readonly Column<TaskRow>[] = [
    { title: "TASK", align: "right", value: (task) => task.id },
    { title: "STATE", value: (task) => task.state, style: (task) => stateStyle(task.state) },
    { title: "ATTEMPT", align: "right", value: ({ attempt }) => (attempt > 0 ? `${attempt}` : "") },
    { title: "NODE", value: (task) => task.node ?? "" },
    { title: "CLUSTER", value: (task) => (isOffered ? (task.cluster ?? "") : "") },
    { title: "SHARE", align: "right", value: shareText },
    { title: "STARTED", value: (task) => ago(task.startedAtMs, page.nowMs) },
    { title: "TOOK", align: "right", value: (task) => took(task, page.nowMs) },
    { title: "PROGRESS", value: progressText },
    { title: "CPU", align: "right", value: cpuTime },
    { title: "MEMORY", align: "right", value: maxMemory },
    { title: "EXIT", align: "right", value: exit },
    { title: "REASON", value: (task) => reasonOf(task, page.nowMs) },
  ];
  return renderTable(columns, tasks, page);
}

const shareText = ({ share }: TaskRow): string =>
  share === undefined ? "" : `${share.wattSeconds} Ws`;

/** The signal's name tells more than the code a shell would make of it. */
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
  task.state !== "waiting" || task.notBeforeMs === undefined
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
    { title: "CPU", align: "right", value: cpuTime },
    { title: "MEMORY", align: "right", value: maxMemory },
    { title: "EXIT", align: "right", value: exit },
    { title: "REASON", value: (row) => row.reason ?? "" },
  ];
  return renderTable(columns, past, page);
}
