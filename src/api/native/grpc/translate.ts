import type { DependencyInput } from "../../../core/model/job/dependency.ts";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import { OutputStream } from "../../../gen/busbar/v1/agent_pb.ts";
import type {
  Dependency,
  JobFilter as WireJobFilter,
  JobSpec,
  JobSubmission,
  ListNodesRequest,
  ListTasksRequest,
  Placement,
  PutGroupRequest,
  ReadOutputRequest,
  Retries,
  SubmitJobspecRequest,
  TryJobsRequest,
  WatchRequest,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { invalid } from "../../../lib/errors.ts";
import type {
  JobFilter,
  JobspecInput,
  Operations,
  OutputQuery,
  Page,
  SubmissionInput,
  TryInput,
  WatchQuery,
} from "../../../server/operations/operations.ts";
import { fromJson, fromSelect } from "./translate-values.ts";
import { fromJobState, fromNodeState, fromTaskState } from "../state-names.ts";

// Requests of the wire to what Operations takes. In proto3 a zero value and an absent field are
// the same, and both mean: not given.

type GroupInput = Parameters<Operations["putGroup"]>[0];
type NodeFilter = Parameters<Operations["listNodes"]>[0];

export function fromSubmission(wire: JobSubmission, at: number): SubmissionInput {
  const field = `jobs[${at}]`;
  if (wire.spec === undefined) throw invalid(`${field}.spec`, "is missing");
  return { spec: fromJobSpec(wire.spec, field), idempotencyKey: given(wire.idempotencyKey) };
}

export const fromJobSpec = (wire: JobSpec, field: string): JobSpecInput => ({
  name: given(wire.name),
  group: given(wire.group),
  labels: someOf(wire.labels),
  command: wire.command.length === 0 ? undefined : wire.command,
  script: given(wire.script),
  jobspec: given(wire.jobspec),
  env: someOf(wire.env),
  cwd: given(wire.cwd),
  resources: someOf(wire.resources),
  placement: fromPlacement(wire.placement),
  array: given(wire.array),
  priority: given(wire.priority),
  retries: fromRetries(wire.retries, `${field}.retries`),
  timeLimitMs: given(toNumber(wire.timeLimitMs, `${field}.timeLimitMs`)),
  killGraceMs: given(toNumber(wire.killGraceMs, `${field}.killGraceMs`)),
  queueDeadlineMs: given(toNumber(wire.queueDeadlineMs, `${field}.queueDeadlineMs`)),
  outputLimitBytes: given(toNumber(wire.outputLimitBytes, `${field}.outputLimitBytes`)),
  dependsOn: wire.dependsOn.length === 0 ? undefined : wire.dependsOn.map(fromDependency),
  request: wire.request === "" ? undefined : fromJson(wire.request, `${field}.request`),
  select: fromSelect(wire.select, `${field}.select`),
});

const fromDependency = ({ kind, on, atLeast, name }: Dependency): DependencyInput => ({
  kind: given(kind),
  on: on.length === 0 ? undefined : on,
  atLeast: given(atLeast),
  name: given(name),
});

function fromPlacement(wire: Placement | undefined): JobSpecInput["placement"] {
  if (wire === undefined) return undefined;
  return {
    kind: given(wire.kind),
    cluster: given(wire.cluster),
    node: given(wire.node),
    labels: someOf(wire.labels),
  };
}

function fromRetries(wire: Retries | undefined, field: string): JobSpecInput["retries"] {
  if (wire === undefined) return undefined;
  return {
    max: given(wire.max),
    backoffMs: given(toNumber(wire.backoffMs, `${field}.backoffMs`)),
    backoffMaxMs: given(toNumber(wire.backoffMaxMs, `${field}.backoffMaxMs`)),
  };
}

export const fromJobspec = (wire: SubmitJobspecRequest): JobspecInput => ({
  jobspec: wire.jobspec,
  idempotencyKey: given(wire.idempotencyKey),
  allowUnsatisfiable: wire.allowUnsatisfiable,
  common: definedOf({
    group: given(wire.group),
    labels: someOf(wire.labels),
    placement: fromPlacement(wire.placement),
    priority: given(wire.priority),
    select: fromSelect(wire.select, "select"),
  }),
});

/** What is not given must not replace what is. */
const definedOf = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

export function fromTry({ ask }: TryJobsRequest): TryInput {
  if (ask.case === undefined) throw invalid("ask", "needs jobs or a jobspec");
  return ask.case === "jobspec"
    ? { kind: "jobspec", jobspec: fromJobspec(ask.value) }
    : { kind: "jobs", jobs: ask.value.jobs.map(fromSubmission) };
}

export const fromPage = (wire: {
  readonly pageSize: number;
  readonly pageToken: string;
}): Page => ({
  pageSize: given(wire.pageSize),
  pageToken: given(wire.pageToken),
});

export function fromJobFilter(wire: WireJobFilter | undefined): JobFilter {
  if (wire === undefined) return {};
  const states = wire.states.map((state, at) => fromJobState(state, `filter.states[${at}]`));
  return {
    states: states.length === 0 ? undefined : states,
    group: given(wire.group),
    labels: someOf(wire.labels),
    cluster: given(wire.cluster),
    node: given(wire.node),
    name: given(wire.name),
    submittedBy: given(wire.submittedBy),
  };
}

export const fromTaskStates = ({ states }: ListTasksRequest) =>
  states.map((state, at) => fromTaskState(state, `states[${at}]`));

export const fromNodeFilter = (wire: ListNodesRequest): NodeFilter => ({
  cluster: given(wire.cluster),
  state: wire.state === "" ? undefined : fromNodeState(wire.state, "state"),
});

export const fromPutGroup = (wire: PutGroupRequest): GroupInput => ({
  name: wire.name,
  weight: wire.weight,
  owner: wire.owner,
  runningTasksMax: toOptional(wire.runningTasksMax, "runningTasksMax"),
  queuedTasksMax: toOptional(wire.queuedTasksMax, "queuedTasksMax"),
});

export const fromReadOutput = (wire: ReadOutputRequest): OutputQuery => ({
  taskId: wire.taskId,
  stream: fromStream(wire.stream),
  offset: given(toNumber(wire.offset, "offset")),
  follow: wire.follow,
  attempt: given(wire.attempt),
});

function fromStream(wire: OutputStream): OutputQuery["stream"] {
  if (wire === OutputStream.UNSPECIFIED || wire === OutputStream.STDOUT) return "stdout";
  if (wire === OutputStream.STDERR) return "stderr";
  throw invalid("stream", `${wire} is not a stream; 1 is stdout, 2 is stderr`);
}

export function fromWatch(wire: WatchRequest): WatchQuery {
  const kinds = [
    ...(wire.jobs ? (["job"] as const) : []),
    ...(wire.tasks ? (["task"] as const) : []),
    ...(wire.nodes ? (["node"] as const) : []),
    ...(wire.groups ? (["group"] as const) : []),
  ];
  return {
    afterRevision: given(toNumber(wire.afterRevision, "afterRevision")),
    jobId: given(wire.jobId),
    group: given(wire.group),
    kinds: kinds.length === 0 ? undefined : kinds,
  };
}

/** In proto3 what is empty or zero is not given. */
export const given = <T extends string | number>(value: T): T | undefined =>
  value === "" || value === 0 ? undefined : value;

function someOf<T>(map: Readonly<Record<string, T>>): Readonly<Record<string, T>> | undefined {
  for (const _ in map) return map;
  return undefined;
}

/** 64 bits of the wire as a number that loses nothing. */
function toNumber(value: bigint, field: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw invalid(field, `${value} is out of range`);
  return number;
}

const toOptional = (value: bigint | undefined, field: string): number | undefined =>
  value === undefined ? undefined : toNumber(value, field);
