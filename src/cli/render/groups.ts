import type { GroupRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { type Column, renderTable, type RowKind } from "./table.ts";
import { cpuTimeColumn, resources } from "./values.ts";

export const GROUPS: RowKind<GroupRow> = {
  plural: "groups",
  name: ({ name }) => name,
  columns: () => columns,
};

export const renderGroups = (groups: readonly GroupRow[], page: TerminalPage): string =>
  renderTable(columns, groups, page);

/** "4", or "4/100" when there is a limit. */
const ofMost = (count: number, most: number | undefined): string =>
  most === undefined ? String(count) : `${count}/${most}`;

const running = ({ tasks }: GroupRow): number =>
  tasks.offered + tasks.assigned + tasks.running + tasks.stopping;

const queued = ({ tasks }: GroupRow): number => tasks.pending + tasks.waiting;

const columns: readonly Column<GroupRow>[] = [
  {
    title: "NAME",
    value: ({ name, pausedBy }) => (pausedBy === undefined ? name : `${name} (paused)`),
    csv: ({ name }) => name,
  },
  { title: "WEIGHT", align: "right", value: (group) => String(group.weight) },
  { title: "OWNER", value: (group) => group.owner ?? "" },
  {
    title: "RUNNING",
    align: "right",
    value: (group) => ofMost(running(group), group.runningTasksMax),
    csv: (group) => String(running(group)),
  },
  {
    title: "QUEUED",
    align: "right",
    value: (group) => ofMost(queued(group), group.queuedTasksMax),
    csv: (group) => String(queued(group)),
  },
  { title: "SUCCEEDED", align: "right", value: ({ tasks }) => String(tasks.succeeded) },
  {
    title: "FAILED",
    align: "right",
    value: ({ tasks }) => String(tasks.failed + tasks.expired),
    style: ({ tasks }) => (tasks.failed + tasks.expired > 0 ? "red" : undefined),
  },
  cpuTimeColumn("CPU TIME"),
  { title: "USES", value: (group) => resources(group.used) },
  {
    title: "CANCELLED",
    isWide: true,
    align: "right",
    value: ({ tasks }) => String(tasks.cancelled),
  },
  { title: "PAUSED BY", isWide: true, value: ({ pausedBy }) => pausedBy ?? "" },
  { title: "CHANGED BY", isWide: true, value: ({ changedBy }) => changedBy ?? "" },
];
