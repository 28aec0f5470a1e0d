import type { NodeSettings } from "../../../server/views/views.ts";
import { USUAL_KINDS } from "../../../server/watch/watch-filter.ts";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import { OutputStream } from "../../../gen/busbar/v1/agent_pb.ts";
import type {
  SetNodeRequest,
  JobFilter as WireJobFilter,
  JobSpec,
  JobSubmission,
  ListJobsRequest,
  ListNodesRequest,
  ListTasksRequest,
  PutGroupRequest,
  ReadOutputRequest,
  RerunJobRequest,
  SubmitJobspecRequest,
  TryJobsRequest,
  UpdateJobRequest,
  WatchRequest,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { JobSpecSchema, PlacementSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { invalid } from "../../../lib/errors.ts";
import type {
  ChangeCondition,
  JobFilter,
  JobPage,
  JobspecInput,
  JobUpdateInput,
  Operations,
  OutputQuery,
  Page,
  RerunInput,
  SubmissionInput,
  TryInput,
  WatchQuery,
} from "../../../server/operations/operations.ts";
import { toJson } from "../../../wire/write-json.ts";
import { checkSelect, fromJson, fromSelect } from "./translate-values.ts";
import { fromJobState, fromNodeState, fromTaskState } from "../state-names.ts";

// Converts requests of the wire to the input of Operations: one handwritten mapping for every door of the native API.

type GroupInput = Parameters<Operations["putGroup"]>[0];
type NodeFilter = Parameters<Operations["listNodes"]>[0];

export function fromSubmission(wire: JobSubmission, at: number): SubmissionInput {
  const field = `jobs[${at}]`;
  if (wire.spec === undefined) throw invalid(`${field}.spec`, "is missing");
  const { idempotencyKey, hold } = wire;
  return { spec: fromJobSpec(wire.spec, field), idempotencyKey, ...(hold === true && { hold }) };
}

/** The JSON of a spec is the input of operations: names and types are the same, or this does not compile. */
export function fromJobSpec(wire: JobSpec, field: string): JobSpecInput {
  if (wire.request !== undefined) fromJson(wire.request, `${field}.request`);
  if (wire.select !== undefined) checkSelect(wire.select, `${field}.select`);
  checkNumbers(wire, field);
  if (wire.retries !== undefined) checkNumbers(wire.retries, `${field}.retries`);
  if (wire.energy !== undefined) checkNumbers(wire.energy, `${field}.energy`);
  if (wire.service !== undefined) checkNumbers(wire.service, `${field}.service`);
  return toJson(JobSpecSchema, wire);
}

export const fromJobspec = (wire: SubmitJobspecRequest): JobspecInput => ({
  jobspec: wire.jobspec,
  idempotencyKey: wire.idempotencyKey,
  allowUnsatisfiable: wire.allowUnsatisfiable,
  ...(wire.hold === true && { hold: true }),
  common: definedOf({
    group: wire.group,
    labels: someOf(wire.labels),
    placement: wire.placement && toJson(PlacementSchema, wire.placement),
    priority: wire.priority,
    select: fromSelect(wire.select, "select"),
  }),
});

/** An undefined field must not replace a defined one. */
const definedOf = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

export function fromTry({ ask }: TryJobsRequest): TryInput {
  if (ask.case === undefined) throw invalid("ask", "needs jobs or a jobspec");
  return ask.case === "jobspec"
    ? { kind: "jobspec", jobspec: fromJobspec(ask.value) }
    : { kind: "jobs", jobs: ask.value.jobs.map(fromSubmission) };
}

export const fromPage = (wire: {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}): Page => ({
  pageSize: wire.pageSize,
  pageToken: wire.pageToken,
});

export const fromJobPage = (wire: ListJobsRequest): JobPage => ({
  ...fromPage(wire),
  sort: wire.sort,
});

export function fromJobFilter(wire: WireJobFilter | undefined): JobFilter {
  if (wire === undefined) return {};
  const states = wire.states.map((state, at) => fromJobState(state, `filter.states[${at}]`));
  return {
    states: states.length === 0 ? undefined : states,
    group: wire.group,
    labels: someOf(wire.labels),
    cluster: wire.cluster,
    node: wire.node,
    name: wire.name,
    submittedBy: wire.submittedBy,
    submittedFromMs: toOptional(wire.submittedFromMs, "filter.submittedFromMs"),
    submittedBeforeMs: toOptional(wire.submittedBeforeMs, "filter.submittedBeforeMs"),
  };
}

export const fromTaskStates = ({ states }: ListTasksRequest) =>
  states.map((state, at) => fromTaskState(state, `states[${at}]`));

export const fromNodeFilter = (wire: ListNodesRequest): NodeFilter => ({
  cluster: wire.cluster,
  state: wire.state === undefined ? undefined : fromNodeState(wire.state, "state"),
});

/** The expected revision of a change. */
export const fromCondition = ({
  ifRevision,
}: {
  readonly ifRevision?: bigint | undefined;
}): ChangeCondition => ({ ifRevision: toOptional(ifRevision, "ifRevision") });

export const fromSetNode = (wire: SetNodeRequest): NodeSettings & ChangeCondition => ({
  onLost: wire.onLost,
  lostAfterMs: wire.lostAfterMs,
  ...fromCondition(wire),
});

export const fromPutGroup = (wire: PutGroupRequest): GroupInput => ({
  ...fromCondition(wire),
  name: wire.name,
  weight: wire.weight,
  owner: wire.owner,
  runningTasksMax: toOptional(wire.runningTasksMax, "runningTasksMax"),
  queuedTasksMax: toOptional(wire.queuedTasksMax, "queuedTasksMax"),
  paused: wire.paused,
});

export const fromUpdateJob = (wire: UpdateJobRequest): JobUpdateInput => ({
  ...fromCondition(wire),
  priority: wire.priority,
  timeLimitMs: toOptional(wire.timeLimitMs, "timeLimitMs"),
  group: wire.group,
});

export const fromRerunJob = (wire: RerunJobRequest): RerunInput => ({
  ...fromCondition(wire),
  failedOnly: wire.failedOnly,
  idempotencyKey: wire.idempotencyKey,
});

export const fromReadOutput = (wire: ReadOutputRequest): OutputQuery => ({
  taskId: wire.taskId,
  stream: fromStream(wire.stream),
  offset: toOptional(wire.offset, "offset"),
  follow: wire.follow,
  attempt: wire.attempt,
});

function fromStream(wire: OutputStream): OutputQuery["stream"] {
  if (wire === OutputStream.UNSPECIFIED || wire === OutputStream.STDOUT) return "stdout";
  if (wire === OutputStream.STDERR) return "stderr";
  throw invalid("stream", `${wire} is not a stream; 1 is stdout, 2 is stderr`);
}

export function fromWatch(wire: WatchRequest): WatchQuery {
  const kinds = USUAL_KINDS.filter((kind) => wire[`${kind}s`]);
  return {
    afterRevision: toOptional(wire.afterRevision, "afterRevision"),
    jobId: wire.jobId,
    group: wire.group,
    kinds: kinds.length === 0 ? undefined : kinds,
  };
}

function someOf<T>(map: Readonly<Record<string, T>>): Readonly<Record<string, T>> | undefined {
  for (const _ in map) return map;
  return undefined;
}

/** Rejects numbers that JSON cannot represent exactly. */
function checkNumbers(message: object, field: string): void {
  for (const [name, value] of Object.entries(message)) {
    if (typeof value === "bigint") toNumber(value, `${field}.${name}`);
  }
}

/** Converts 64 bits of the wire to a number without loss. */
function toNumber(value: bigint, field: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw invalid(field, `${value} is out of range`);
  return number;
}

export const toOptional = (value: bigint | undefined, field: string): number | undefined =>
  value === undefined ? undefined : toNumber(value, field);
