import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Cluster } from "../model/cluster.ts";
import { DEFAULT_GROUP } from "../model/group.ts";
import type { Group } from "../model/group.ts";
import type { Job, JobSpec } from "../model/job.ts";
import { defaults } from "../model/job-spec.ts";
import type { Node } from "../model/node.ts";
import type { Task } from "../model/task.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { Change, Counter } from "./change.ts";

// Numbers in keys have a fixed width, so that rows come back in their order.
const jobKey = (id: number): string => `job/${String(id).padStart(10, "0")}`;
const taskKey = (id: number, index: number): string =>
  `task/${String(id).padStart(10, "0")}/${String(index).padStart(9, "0")}`;

/** Calls `write` for every stored row a change touches; undefined deletes it. */
export function encodeChange(
  change: Change,
  write: (key: string, value: string | undefined) => void,
): void {
  switch (change.table) {
    case "job":
      if ("removed" in change) {
        write(jobKey(change.removed), undefined);
        for (const index of change.indexes) write(taskKey(change.removed, index), undefined);
      } else {
        write(jobKey(change.row.id), encodeJob(change.row));
      }
      return;
    case "task":
      write(taskKey(change.row.jobId, change.row.index), encodeTask(change.row));
      return;
    case "counter":
      write("counter/jobs", JSON.stringify(change.row));
      return;
    case "group":
    case "cluster":
    case "node":
      if ("removed" in change) write(`${change.table}/${change.removed}`, undefined);
      else write(`${change.table}/${change.row.id}`, JSON.stringify(change.row));
  }
}

/** A stored row back as the change that would write it. */
export function decodeRow(key: string, value: string): Change {
  const table = key.slice(0, key.indexOf("/"));
  switch (table) {
    case "job":
      return { table, row: decodeJob(JSON.parse(value) as StoredJob) };
    case "task":
      return { table, row: decodeTask(JSON.parse(value) as StoredTask) };
    case "counter":
      return { table, row: JSON.parse(value) as Counter };
    case "group":
      return { table, row: decodeGroup(JSON.parse(value) as Partial<Group>) };
    case "cluster":
      return { table, row: JSON.parse(value) as Cluster };
    case "node":
      return { table, row: decodeNode(JSON.parse(value) as Node) };
    default:
      throw new AppError("internal", `the store holds a row that is not ours: ${key}`);
  }
}

type StoredJob = Omit<Job, "spec"> & {
  readonly spec: Partial<JobSpec> & Pick<JobSpec, "work" | "name">;
};

/** What a spec holds when it says nothing: left out when stored, shared when read. */
const specDefaults = {
  group: DEFAULT_GROUP,
  labels: defaults.NO_TEXTS,
  env: defaults.NO_TEXTS,
  cwd: undefined,
  needs: defaults.ONE_CPU,
  where: defaults.ANYWHERE,
  array: undefined,
  priority: 0,
  retries: defaults.NO_RETRIES,
  timeLimitMs: undefined,
  killGraceMs: limits.killGraceMsDefault,
  queueDeadlineMs: undefined,
  outputLimitBytes: limits.outputBytesDefault,
} as const satisfies Omit<JobSpec, "work" | "name">;

const specDefaultNames = Object.keys(specDefaults) as (keyof typeof specDefaults)[];

function encodeJob({ id, spec, submittedAtMs, submittedBy, idempotencyKey, closed }: Job): string {
  const stored: Record<string, unknown> = { name: spec.name, work: spec.work };
  for (const name of specDefaultNames) {
    const value = spec[name];
    const usual = specDefaults[name];
    const isDefault = value === usual || (typeof value === "object" && isDeepEqual(value, usual));
    if (!isDefault) stored[name] = value;
  }
  return JSON.stringify({ id, submittedAtMs, submittedBy, idempotencyKey, closed, spec: stored });
}

function decodeJob({ spec, ...job }: StoredJob): Job {
  return {
    id: job.id,
    // Every field in one fixed order: rows read back have the same shape as new ones.
    spec: {
      name: spec.name,
      group: spec.group ?? specDefaults.group,
      labels: spec.labels ?? specDefaults.labels,
      work: spec.work,
      env: spec.env ?? specDefaults.env,
      cwd: spec.cwd,
      needs: spec.needs ?? specDefaults.needs,
      where: spec.where ?? specDefaults.where,
      array: spec.array,
      priority: spec.priority ?? specDefaults.priority,
      retries: spec.retries ?? specDefaults.retries,
      timeLimitMs: spec.timeLimitMs,
      killGraceMs: spec.killGraceMs ?? specDefaults.killGraceMs,
      queueDeadlineMs: spec.queueDeadlineMs,
      outputLimitBytes: spec.outputLimitBytes ?? specDefaults.outputLimitBytes,
    },
    submittedAtMs: job.submittedAtMs,
    submittedBy: job.submittedBy,
    idempotencyKey: job.idempotencyKey,
    closed: job.closed,
  };
}

type StoredTask = Pick<Task, "jobId" | "index" | "attempt" | "state"> & Partial<Task>;

const NO_PAST: Task["past"] = Object.freeze([]);

function encodeTask({ jobId, index, attempt, state, failures, losses, past }: Task): string {
  const base: StoredTask = { jobId, index, attempt, state };
  const isFirst = failures === 0 && losses === 0 && past.length === 0;
  return JSON.stringify(isFirst ? base : { ...base, failures, losses, past });
}

const decodeTask = (stored: StoredTask): Task => ({
  jobId: stored.jobId,
  index: stored.index,
  attempt: stored.attempt,
  state: decodeState(stored.state),
  failures: stored.failures ?? 0,
  losses: stored.losses ?? 0,
  past: (stored.past ?? NO_PAST).map((one) => ({ ...one, startedAtMs: one.startedAtMs })),
});

/** JSON leaves out undefined; optional fields are put back, so that equal rows are equal. */
function decodeState(state: Task["state"]): Task["state"] {
  switch (state.kind) {
    case "stopping":
    case "failed":
      return { ...state, startedAtMs: state.startedAtMs };
    case "cancelled":
      return { ...state, nodeId: state.nodeId, startedAtMs: state.startedAtMs };
    case "waiting":
    case "assigned":
    case "running":
    case "succeeded":
      return state;
  }
}

const decodeGroup = (stored: Partial<Group>): Group => ({
  ...(stored as Group),
  runningTasksMax: stored.runningTasksMax,
  queuedTasksMax: stored.queuedTasksMax,
});

const decodeNode = (stored: Node): Node => ({ ...stored, drain: stored.drain });
