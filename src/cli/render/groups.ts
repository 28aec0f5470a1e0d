import type { GroupRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderTable } from "./table.ts";
import { cpuTime, resources } from "./values.ts";

export function renderGroups(groups: readonly GroupRow[], page: TerminalPage): string {
  return renderTable(columns, groups, page);
}

/** "4", or "4/100" when there is a limit. */
const ofMost = (count: number, most: number | undefined): string =>
  most === undefined ? String(count) : `${count}/${most}`;

const columns: readonly Column<GroupRow>[] = [
  {
    title: "NAME",
    value: ({ name, pausedBy }) => (pausedBy === undefined ? name : `${name} (paused)`),
  },
  { title: "WEIGHT", align: "right", value: (group) => String(group.weight) },
  { title: "OWNER", value: (group) => group.owner ?? "" },
  {
    title: "RUNNING",
    align: "right",
    value: ({ tasks, runningTasksMax }) =>
      ofMost(tasks.offered + tasks.assigned + tasks.running + tasks.stopping, runningTasksMax),
  },
  {
    title: "QUEUED",
    align: "right",
    value: ({ tasks, queuedTasksMax }) => ofMost(tasks.pending + tasks.waiting, queuedTasksMax),
  },
  { title: "SUCCEEDED", align: "right", value: ({ tasks }) => String(tasks.succeeded) },
  {
    title: "FAILED",
    align: "right",
    value: ({ tasks }) => String(tasks.failed + tasks.expired),
    style: ({ tasks }) => (tasks.failed + tasks.expired > 0 ? "red" : undefined),
  },
  { title: "CPU TIME", align: "right", value: cpuTime },
  { title: "USES", value: (group) => resources(group.used) },
];
