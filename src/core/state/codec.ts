import { AppError } from "../../lib/errors.ts";
import {
  decodeChoice,
  decodeGraph,
  decodeSubsystem,
  encodeGraph,
  encodeSubsystem,
} from "../graph/rows.ts";
import type { Cluster, ClusterStatus } from "../model/cluster.ts";
import { type Credential, credentialKey } from "../model/credential.ts";
import type { DeclaredSoftware } from "../model/declared-software.ts";
import type { Group } from "../model/group.ts";
import type { ClusterId, JobId, TaskRef } from "../model/ids.ts";
import { clusterId, jobId, nodeId } from "../model/ids.ts";
import type { Job, JobSpec, JobTerms } from "../model/job/job.ts";
import { SharedSpec } from "../model/job/job.ts";
import { DEFAULT_TERMS, shareTerms, TERM_NAMES } from "../model/job/job-spec.ts";
import type { Node } from "../model/node/node.ts";
import type { NodeFacts } from "../model/node/node-facts.ts";
import type { PastAttempt, Task } from "../model/job/task.ts";
import type { StoredUsage } from "../model/job/usage.ts";
import { decodeUsage, encodeUsage } from "../model/job/usage.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { Change, Counter } from "./change.ts";

// Numbers in keys have a fixed width, so that rows come back in their order.
const jobKey = (id: number): string => `job/${String(id).padStart(10, "0")}`;
const leftoverKey = (id: number): string => `leftover/${String(id).padStart(10, "0")}`;
const taskKey = (id: number, index: number): string =>
  `task/${String(id).padStart(10, "0")}/${String(index).padStart(9, "0")}`;

// A cluster's name has no slash; a subsystem's may have any character.
const subsystemKey = (id: ClusterId, name: string): string => `subsystem/${id}/${name}`;

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
    case "leftover":
      if ("row" in change) write(leftoverKey(change.row.id), JSON.stringify(change.row));
      else {
        for (const index of change.indexes) write(taskKey(change.removed, index), undefined);
        if (change.isLast) write(leftoverKey(change.removed), undefined);
      }
      return;
    case "task":
      write(taskKey(change.row.jobId, change.row.index), encodeTask(change.row));
      return;
    case "counter":
      write("counter/jobs", JSON.stringify(change.row));
      return;
    case "graph":
      if ("removed" in change) write(`graph/${change.removed}`, undefined);
      else write(`graph/${change.row.id}`, encodeGraph(change.row.graph));
      return;
    case "subsystem":
      if ("removed" in change) write(subsystemKey(change.removed, change.name), undefined);
      else {
        const { id, subsystem } = change.row;
        write(subsystemKey(id, subsystem.name), encodeSubsystem(subsystem));
      }
      return;
    case "facts":
      // Without the id, which is in the key: equal machines have equal rows.
      if ("removed" in change) write(`facts/${change.removed}`, undefined);
      else write(`facts/${change.row.id}`, JSON.stringify(change.row.facts));
      return;
    case "declared":
      if ("removed" in change) write(`declared/${change.removed}/${change.name}`, undefined);
      else write(`declared/${change.row.id}/${change.row.name}`, JSON.stringify(change.row));
      return;
    case "credential":
      if ("removed" in change) write(`credential/${credentialKey(change.removed)}`, undefined);
      else write(`credential/${credentialKey(change.row.id)}`, JSON.stringify(change.row));
      return;
    case "group":
    case "cluster":
    case "status":
    case "node":
      if ("removed" in change) write(`${change.table}/${change.removed}`, undefined);
      else write(`${change.table}/${change.row.id}`, JSON.stringify(change.row));
  }
}

/** The id in a job's key; undefined for other keys. */
export const jobIdOfKey = (key: string): JobId | undefined =>
  key.startsWith("job/") ? jobId(Number(key.slice("job/".length))) : undefined;

/** The job and the index in a task's key; undefined for other keys. */
export function taskOfKey(key: string): TaskRef | undefined {
  const [table, id, index] = key.split("/");
  return table === "task" ? { jobId: jobId(Number(id)), index: Number(index) } : undefined;
}

/** One stored row back as the change that would write it. */
export function decodeRow(key: string, value: string, like = DEFAULT_TERMS): Change {
  const table = key.slice(0, key.indexOf("/"));
  switch (table) {
    case "job":
      return { table, row: decodeJob(value, like) };
    case "task":
      return { table, row: decodeTask(value) };
    case "leftover":
      return { table, row: JSON.parse(value) as { id: JobId } };
    case "counter":
      return { table, row: JSON.parse(value) as Counter };
    case "group":
      return { table, row: decodeGroup(JSON.parse(value) as Partial<Group>) };
    case "cluster":
      return { table, row: JSON.parse(value) as Cluster };
    case "graph":
      return { table, row: { id: clusterId(idOf(key)), graph: decodeGraph(value) } };
    case "subsystem": {
      const [id = ""] = idOf(key).split("/", 1);
      return { table, row: { id: clusterId(id), subsystem: decodeSubsystem(value) } };
    }
    case "credential":
      return { table, row: JSON.parse(value) as Credential };
    case "declared":
      return { table, row: JSON.parse(value) as DeclaredSoftware };
    case "status":
      return { table, row: JSON.parse(value) as ClusterStatus };
    case "node":
      return { table, row: decodeNode(JSON.parse(value) as Node) };
    case "facts": {
      const facts = JSON.parse(value) as NodeFacts;
      return { table, row: { id: nodeId(key.slice(key.indexOf("/") + 1)), facts } };
    }
    default:
      throw new AppError("internal", `the store holds a row that is not ours: ${key}`);
  }
}

const idOf = (key: string): string => key.slice(key.indexOf("/") + 1);

type StoredJob = Omit<Job, "spec"> & {
  readonly spec: Partial<JobTerms> & Pick<JobSpec, "work" | "name"> & Partial<JobSpec>;
};

/**
 * What is decided about a job, what it depends on, and its terms stand first: see `waitingPrefix`.
 * A row with any of the former is read as a whole.
 */
export function encodeJob(job: Job): string {
  const { id, spec, submittedAtMs, submittedBy, idempotencyKey, closed, waitsFor } = job;
  const terms = storedTerms(spec.terms);
  const stored = spec.dependsOn === undefined ? terms : { dependsOn: spec.dependsOn, ...terms };
  stored["name"] = spec.name;
  stored["work"] = spec.work;
  return JSON.stringify({
    closed,
    waitsFor,
    idempotencyKey,
    spec: stored,
    id,
    submittedAtMs,
    submittedBy,
  });
}

/** Terms that say what everybody's say are left out when stored, and shared when read. */
function storedTerms(terms: JobTerms): Record<string, unknown> {
  const stored: Record<string, unknown> = {};
  if (terms === DEFAULT_TERMS) return stored;
  for (const name of TERM_NAMES) {
    const value = terms[name];
    if (!isDeepEqual(value, DEFAULT_TERMS[name])) stored[name] = value;
  }
  return stored;
}

/**
 * What the row of a job with these terms begins with, up to its name, if it has neither idempotency
 * key nor closing. A row that begins so need not be parsed to be queued. Rows of earlier versions
 * have their fields in another order and begin otherwise.
 */
export function waitingPrefix(terms: JobTerms): string {
  const text = JSON.stringify({ spec: { ...storedTerms(terms), name: "" } });
  return text.slice(0, -'""}}'.length);
}

const SUBMITTED_BY = '"submittedBy":';
const NAME = '"name":';

/**
 * A job's name and submitter from a row that begins as `waitingPrefix` says, without reading the
 * rest: the name ends the beginning, and the submitter the row.
 */
export function searchedTexts(text: string): {
  readonly name: string;
  readonly submittedBy: string;
} {
  const name = text.indexOf(NAME) + NAME.length;
  const submitter = text.lastIndexOf(SUBMITTED_BY) + SUBMITTED_BY.length;
  return { name: stringAt(text, name), submittedBy: stringAt(text, submitter) };
}

function stringAt(text: string, at: number): string {
  let end = text.indexOf('"', at + 1);
  if (text.lastIndexOf("\\", end) < at) return text.slice(at + 1, end);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return JSON.parse(text.slice(at, end + 1)) as string;
}

/** Whether an odd number of backslashes stands before. */
export function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

export function decodeJob(value: string, like = DEFAULT_TERMS): Job {
  const stored = JSON.parse(value) as StoredJob;
  return {
    id: stored.id,
    spec: decodeSpec(stored.spec, like),
    submittedAtMs: stored.submittedAtMs,
    submittedBy: stored.submittedBy,
    idempotencyKey: stored.idempotencyKey,
    closed: stored.closed,
    waitsFor: stored.waitsFor,
  };
}

function decodeSpec(stored: StoredJob["spec"], like: JobTerms): JobSpec {
  const { name, work, dependsOn, ...some } = stored;
  const isDefault = Object.keys(some).length === 0;
  const terms = isDefault ? DEFAULT_TERMS : shareTerms(decodeTerms(some), like);
  return new SharedSpec(name, work, terms, dependsOn);
}

function decodeTerms(some: Partial<JobTerms>): JobTerms {
  const { request, select } = some;
  const terms = { ...DEFAULT_TERMS, ...some };
  if (request === undefined && select === undefined) return terms;
  return {
    ...terms,
    request: request && decodeChoice(request),
    select: select && { ...select, strategy: select.strategy },
  };
}

type StoredPast = Omit<PastAttempt, "usage"> & { readonly usage?: StoredUsage };
type StoredTask = Pick<Task, "jobId" | "index" | "attempt" | "state"> &
  Partial<Pick<Task, "failures" | "losses">> & {
    readonly returns?: number | undefined;
    readonly past?: readonly StoredPast[];
    readonly takes?: Task["takes"] | undefined;
    readonly told?: Task["told"] | undefined;
    readonly usage?: StoredUsage | undefined;
    readonly earlierUsage?: StoredUsage | undefined;
  };

export const NO_PAST: Task["past"] = Object.freeze([]);

export function encodeTask(task: Task): string {
  const { jobId, index, attempt, state, failures, losses, returns, past, takes, told, usage } =
    task;
  // What is undefined is not written.
  const used = usage && encodeUsage(usage);
  const base: StoredTask = { jobId, index, attempt, state, takes, told, usage: used };
  const isFirst = failures === 0 && losses === 0 && returns === undefined && past.length === 0;
  if (isFirst) return JSON.stringify(base);
  const earlierUsage = task.earlierUsage && encodeUsage(task.earlierUsage);
  const stored: StoredTask = {
    ...base,
    failures,
    losses,
    returns,
    past: past.map(encodePast),
    earlierUsage,
  };
  return JSON.stringify(stored);
}

const encodePast = ({ usage, ...past }: PastAttempt): StoredPast =>
  usage === undefined ? past : { ...past, usage: encodeUsage(usage) };

function decodePast({ usage: stored, ...past }: StoredPast): PastAttempt {
  const usage = stored && decodeUsage(stored);
  const read = { ...past, nodeId: past.nodeId, startedAtMs: past.startedAtMs };
  return usage === undefined ? read : { ...read, usage };
}

export const decodeTask = (text: string): Task => readTask(JSON.parse(text) as StoredTask);

function readTask(stored: StoredTask): Task {
  const usage = stored.usage && decodeUsage(stored.usage);
  const earlierUsage = stored.earlierUsage && decodeUsage(stored.earlierUsage);
  return {
    jobId: stored.jobId,
    index: stored.index,
    attempt: stored.attempt,
    state: decodeState(stored.state),
    failures: stored.failures ?? 0,
    losses: stored.losses ?? 0,
    past: stored.past === undefined ? NO_PAST : stored.past.map(decodePast),
    ...(stored.returns === undefined ? {} : { returns: stored.returns }),
    ...(stored.takes === undefined ? {} : { takes: stored.takes }),
    ...(stored.told === undefined ? {} : { told: stored.told }),
    ...(usage === undefined ? {} : { usage }),
    ...(earlierUsage === undefined ? {} : { earlierUsage }),
  };
}

/** JSON leaves out undefined; optional fields are put back, so that equal rows are equal. */
function decodeState(state: Task["state"]): Task["state"] {
  switch (state.kind) {
    case "stopping":
    case "accepted":
      return { ...state, startedAtMs: state.startedAtMs };
    case "succeeded":
      return { ...state, nodeId: state.nodeId };
    case "failed":
    case "cancelled":
      return { ...state, nodeId: state.nodeId, startedAtMs: state.startedAtMs };
    case "waiting":
    case "offered":
    case "held":
    case "assigned":
    case "running":
      return state;
  }
}

const decodeGroup = (stored: Partial<Group>): Group => ({
  ...(stored as Group),
  runningTasksMax: stored.runningTasksMax,
  queuedTasksMax: stored.queuedTasksMax,
});

const decodeNode = (stored: Node): Node => ({
  ...stored,
  drain: stored.drain,
  ...(stored.clusterAgent === undefined
    ? {}
    : { clusterAgent: { ...stored.clusterAgent, leaseMs: stored.clusterAgent.leaseMs } }),
});
