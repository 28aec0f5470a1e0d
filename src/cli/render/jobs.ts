import { joinShell } from "../../lib/shell.ts";
import type { CountRow, JobRow, SpecRow, TaskCountsRow } from "../rows.ts";
import type { TerminalPage } from "./page.ts";
import { renderFields, renderTable, type RowKind } from "./table.ts";
import { momentColumn, pairs, progressText, resources, stateStyle, tookColumn } from "./values.ts";

export const JOBS: RowKind<JobRow> = {
  plural: "jobs",
  name: ({ id }) => id,
  columns: ({ nowMs }) => [
    { title: "ID", align: "right", value: (job) => job.id },
    { title: "NAME", value: (job) => job.spec.name },
    { title: "STATE", value: (job) => job.state, style: (job) => stateStyle(job.state) },
    { title: "TASKS", align: "right", value: progress, csv: (job) => String(job.taskTotal) },
    { title: "GROUP", value: (job) => job.spec.group },
    momentColumn("SUBMITTED", (job) => job.submittedAtMs, nowMs),
    tookColumn(nowMs),
    { title: "PROGRESS", value: progressText },
    { title: "REASON", value: outcome },
    { title: "USER", isWide: true, value: (job) => job.submittedBy ?? "" },
    { title: "PRIORITY", isWide: true, align: "right", value: (job) => String(job.spec.priority) },
    { ...momentColumn<JobRow>("STARTED", (job) => job.startedAtMs, nowMs), isWide: true },
    { ...momentColumn<JobRow>("ENDED", (job) => job.endedAtMs, nowMs), isWide: true },
    { title: "EXIT", isWide: true, align: "right", value: (job) => String(job.exitCode ?? "") },
    { title: "NEEDS", isWide: true, value: ({ spec }) => resources(spec.resources ?? {}) },
    { title: "LABELS", isWide: true, value: ({ spec }) => pairs(spec.labels) },
    { title: "COMMAND", isWide: true, value: ({ spec }) => workText(spec) },
  ],
};

export const renderJobs = (jobs: readonly JobRow[], page: TerminalPage): string =>
  renderTable(JOBS.columns(page), jobs, page);

/** The first line of a job's command or script. */
export const workText = ({ command, script, jobspec, workload }: Partial<SpecRow>): string =>
  command === undefined ? firstLine(script ?? jobspec ?? workload ?? "") : joinShell(command);

/** "3/10": how many have ended. For a single task its state is enough. */
const progress = (job: JobRow): string =>
  job.taskTotal <= 1 ? "" : `${endedTasks(job.tasks)}/${job.taskTotal}`;

export const endedTasks = (tasks: TaskCountsRow): number =>
  tasks.succeeded + tasks.failed + tasks.cancelled + tasks.expired + tasks.skipped;

/** The reason of its state; for a failure at least the exit code. */
const outcome = (job: JobRow): string => {
  if (job.reason !== undefined) return job.reason;
  return job.state === "failed" ? `exit ${job.exitCode ?? "unknown"}` : "";
};

/** "4 running, 6 pending": only states with tasks. */
export const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(", ");

export function renderCounts(row: CountRow, page: TerminalPage): string {
  return renderFields(
    [
      ["Jobs", countsText(row.jobs) || "none"],
      ["Tasks", countsText(row.tasks) || "none"],
    ],
    page,
  );
}

interface StateCount {
  readonly what: string;
  readonly state: string;
  readonly count: number;
}

export const COUNTS: RowKind<StateCount> = {
  plural: "counts",
  name: ({ what, state }) => `${what}/${state}`,
  columns: () => [
    { title: "WHAT", value: ({ what }) => what },
    { title: "STATE", value: ({ state }) => state },
    { title: "COUNT", align: "right", value: ({ count }) => String(count) },
  ],
};

export const countRows = ({ jobs, tasks }: CountRow): readonly StateCount[] =>
  Object.entries({ jobs, tasks }).flatMap(([what, counts]) =>
    Object.entries(counts).map(([state, count]) => ({ what, state, count })),
  );

export function firstLine(script: string): string {
  const lines = script.trimEnd().split("\n");
  return lines.length > 1 ? `${lines[0] ?? ""} … (${lines.length} lines)` : (lines[0] ?? "");
}
