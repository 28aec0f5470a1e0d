import type { NexusKind, KindName } from "./kinds.ts";
import { DISPLAY_NAME } from "./names.ts";
import type { NexusObject } from "./object.ts";

interface Column {
  readonly name: string;
  readonly type: "string" | "integer";
  readonly format?: "name";
  readonly description: string;
  /** 0: always shown; 1: only with `-o wide`. */
  readonly priority: 0 | 1;
  cell(object: NexusObject, nowMs: number): string | number;
}

/** Data for the rows of a table that is not in the object itself. */
type Numbers = Readonly<Record<string, unknown>>;

const state = ({ status }: NexusObject): Numbers => (status.state ?? {}) as Numbers;
const spec = (object: NexusObject): Numbers => (object.spec ?? {}) as Numbers;
const label = (name: string) => (object: NexusObject) => object.metadata.labels[name] ?? "";

const column = (
  name: string,
  description: string,
  cell: Column["cell"],
  more: Partial<Pick<Column, "type" | "format" | "priority">> = {},
): Column => ({ name, type: "string", priority: 0, description, cell, ...more });

const WIDE = { priority: 1 } as const;
const NUMBER = { type: "integer" } as const;

const NAME = column(
  "Name",
  "As its requester called it; `-o wide` shows the name that it is stored by.",
  label(DISPLAY_NAME),
  { format: "name" },
);
const HASH = column("Hash", "The name of the object.", ({ metadata }) => metadata.name, WIDE);
const AGE = column("Age", "How long it has been there.", ({ metadata }, nowMs) =>
  ageOf(nowMs - Date.parse(metadata.creationTimestamp)),
);

const number = (value: unknown): number => (typeof value === "number" ? value : 0);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** In the words of the old system, which has no field for it. */
function stateOfJob(object: NexusObject): string {
  const { percentCompleted, startTime, endTime, execution } = state(object);
  if (number(percentCompleted) >= 100) return "Done";
  if (number(endTime) > 0) return "Ended";
  if (number(startTime) > 0) return "Running";
  return Object.keys(execution ?? {}).length > 0 ? "Allocated" : "Queued";
}

function stateOfShare(object: NexusObject): string {
  const { progress, startTime } = state(object);
  if (number(progress) >= 100) return "Done";
  return number(startTime) > 0 ? "Running" : "Allocated";
}

const power = (object: NexusObject): Numbers => (state(object)["powerInfo"] ?? {}) as Numbers;

const COLUMNS: Readonly<Partial<Record<KindName, readonly Column[]>>> = {
  Job: [
    column("Group", "Its job group.", label("jobgroups.jobgroup.intel.com")),
    column("State", "Queued, Allocated, Running, Done, or Ended before all was done.", stateOfJob),
    column("Percent", "How much is done.", (job) => number(state(job)["percentCompleted"]), NUMBER),
    column("Power", "Watt-seconds it needs.", (job) => number(spec(job)["powerNeeded"]), NUMBER),
    column(
      "Edges",
      "Shares it was split into.",
      (job) => Object.keys(state(job)["execution"] ?? {}).length,
      { ...NUMBER, ...WIDE },
    ),
  ],
  JobInfo: [
    column("Edge", "Where it is.", label("edgedcs.edgedc.intel.com")),
    column("Job", "Whose share it is.", (info) => text(spec(info)["requestorJob"])),
    column("State", "Allocated, Running or Done.", stateOfShare),
    column("Percent", "How much is done.", (info) => number(state(info)["progress"]), NUMBER),
    column("Power", "Watt-seconds.", (info) => number(spec(info)["powerNeeded"]), NUMBER),
    column("Group", "The group of the job.", (info) => text(spec(info)["requestorJobGroup"]), WIDE),
  ],
  Edge: [
    column("Site", "Its site.", label("sites.site.intel.com")),
    column("Power", "Watts it has.", (edge) => number(power(edge)["totalPowerAvailable"]), NUMBER),
    column(
      "Free",
      "Watts not in use.",
      (edge) => number(power(edge)["freePowerAvailable"]),
      NUMBER,
    ),
    column("Job", "The job it works for.", (edge) => text(state(edge)["currentJob"])),
    column(
      "Percent",
      "Of its share.",
      (edge) => number(state(edge)["currentJobPercentCompleted"]),
      NUMBER,
    ),
    column("Done", "Shares completed.", (edge) => number(state(edge)["totalJobsProcessed"]), {
      ...NUMBER,
      ...WIDE,
    }),
  ],
  EdgeDC: [column("Site", "Its site.", label("sitedcs.sitedc.intel.com"))],
  SiteDC: [column("Group", "The group it works for.", label("jobgroups.jobgroup.intel.com"))],
  SchedulerConfig: [
    column("Queued", "Jobs.", (object) => number(state(object)["jobsQueued"]), NUMBER),
    column("Running", "Jobs.", (object) => number(state(object)["jobsRunning"]), NUMBER),
    column("Busy", "Edges.", (object) => number(state(object)["busyEdges"]), NUMBER),
    column("Free", "Edges.", (object) => number(state(object)["freeEdges"]), NUMBER),
  ],
};

const columnsOf = ({ kind }: NexusKind): readonly Column[] => [
  NAME,
  ...(COLUMNS[kind] ?? []),
  AGE,
  HASH,
];

const definitions = (kind: NexusKind): readonly object[] =>
  columnsOf(kind).map(({ name, type, format = "", description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));

/** How much of an object a row contains. */
export type Included = "Metadata" | "Object" | "None";

export function toRow(
  kind: NexusKind,
  object: NexusObject,
  nowMs: number,
  included: Included,
): object {
  const cells = columnsOf(kind).map((one) => one.cell(object, nowMs));
  if (included === "None") return { cells, object: null };
  if (included === "Object") return { cells, object };
  const { metadata } = object;
  return {
    cells,
    object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata },
  };
}

export const tableHead = (kind: NexusKind, metadata: object): object => ({
  kind: "Table",
  apiVersion: "meta.k8s.io/v1",
  metadata,
  columnDefinitions: definitions(kind),
});

/** Ages as in kubectl: two parts at most, and fewer the older it is. */
export function ageOf(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return two(days, "d", hours % 24, "h");
  return days < 365 * 2 ? `${days}d` : two(Math.floor(days / 365), "y", days % 365, "d");
}

const two = (large: number, unit: string, small: number, part: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${part}`;
