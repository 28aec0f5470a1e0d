import { type Static, Type } from "typebox";
import {
  CancelJobRequestSchema,
  CountJobsRequestSchema,
  GetJobRequestSchema,
  GetNodeRequestSchema,
  JobFilterSchema,
  JobSubmissionSchema,
  ListJobsRequestSchema,
  ListNodesRequestSchema,
  ListOfferedTasksRequestSchema,
  ListTasksRequestSchema,
  PutGroupRequestSchema,
  ReadOutputRequestSchema,
  SetNodeRequestSchema,
  SubmitJobspecRequestSchema,
  SubmitJobsRequestSchema,
  WatchRequestSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import type { JobStateName, TaskStateName } from "../../../../core/state/jobs/progress.ts";
import type { NodeStateName } from "../../../../core/model/node/node.ts";
import { field, message, requestBody } from "./derived.ts";
import { flag, list, object, oneOf, optional } from "./schema.ts";

// What requests look like. Only shapes are checked here; whether a value makes sense is for the core to
// say, by the rules that the document shows, so that every door says the same.

export const JobSubmission = message(JobSubmissionSchema);
export const ManySubmissions = message(SubmitJobsRequestSchema);
export const JobspecSubmission = message(SubmitJobspecRequestSchema);

/** Beside one job that is submitted. */
export const SubmitQuery = object({
  allowUnsatisfiable: optional(flag("Take jobs that no registered node or cluster can run")),
});

/**
 * One job, or many under `jobs`. Chosen by what is there rather than by what fits, so that a
 * mistake in one form is not reported as a mistake in the other.
 */
export const SubmitBody = Type.Unsafe<
  Static<typeof JobSubmission> | Static<typeof ManySubmissions>
>({
  if: { type: "object", required: ["jobs"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word, and not a function
  then: ManySubmissions,
  else: JobSubmission,
});

/** The same for the document, whose readers know `anyOf` better. */
export const SubmitBodyShown = Type.Union([JobSubmission, ManySubmissions]);

const page = {
  pageSize: optional(Type.Unsafe<number>(field(ListJobsRequestSchema, "pageSize"))),
  pageToken: optional(Type.Unsafe<string>(field(ListJobsRequestSchema, "pageToken"))),
};
const filter = (name: string) => optional(Type.Unsafe<string>(field(JobFilterSchema, name)));

// In a query each value is given by itself: `state` and `label` are one of `states` and of `labels`.
export const JobQuery = object({
  state: optional(Type.Unsafe<readonly JobStateName[]>(field(JobFilterSchema, "states"))),
  group: filter("group"),
  label: optional(
    list(Type.String({ pattern: "^[^=]+=" }), { description: "name=value; all of these" }),
  ),
  cluster: filter("cluster"),
  node: filter("node"),
  name: filter("name"),
  submittedBy: filter("submittedBy"),
  ...page,
});

export const TaskQuery = object({
  state: optional(Type.Unsafe<readonly TaskStateName[]>(field(ListTasksRequestSchema, "states"))),
  ...page,
});

export const NodeQuery = object({
  cluster: optional(Type.Unsafe<string>(field(ListNodesRequestSchema, "cluster"))),
  state: optional(Type.Unsafe<NodeStateName>(field(ListNodesRequestSchema, "state"))),
  ...page,
});

export const CountQuery = object({
  group: optional(Type.Unsafe<string>(field(CountJobsRequestSchema, "group"))),
});

export const OfferedQuery = object({
  max: optional(Type.Unsafe<number>(field(ListOfferedTasksRequestSchema, "max"))),
});

export const OutputQuery = object({
  stream: optional(Type.Unsafe<"stdout" | "stderr">(field(ReadOutputRequestSchema, "stream"))),
  offset: optional(Type.Unsafe<number>(field(ReadOutputRequestSchema, "offset"))),
  follow: optional(Type.Unsafe<boolean>(field(ReadOutputRequestSchema, "follow"))),
  attempt: optional(Type.Unsafe<number>(field(ReadOutputRequestSchema, "attempt"))),
});

// Short names, because people type them into an address; `kind` stands for four flags.
export const WatchQuery = object({
  after: optional(Type.Unsafe<number>(field(WatchRequestSchema, "afterRevision"))),
  job: optional(Type.Unsafe<string>(field(WatchRequestSchema, "jobId"))),
  group: optional(Type.Unsafe<string>(field(WatchRequestSchema, "group"))),
  kind: optional(
    list(oneOf(["job", "task", "node", "group"], "Kind"), { description: "Only of these kinds" }),
  ),
});

export const ReasonBody = requestBody(CancelJobRequestSchema, "id");
export const NodeBody = requestBody(SetNodeRequestSchema, "name");
export const GroupBody = requestBody(PutGroupRequestSchema, "name");

export const JobPath = object({ id: Type.Unsafe<string>(field(GetJobRequestSchema, "id")) });
/** Of a job or a task. */
export const IdPath = object({ id: Type.Unsafe<string>(field(CancelJobRequestSchema, "id")) });
export const NamePath = object({ name: Type.Unsafe<string>(field(GetNodeRequestSchema, "name")) });
