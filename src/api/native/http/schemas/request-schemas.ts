import { type Static, Type } from "typebox";
import {
  CancelJobRequestSchema,
  CountJobsRequestSchema,
  GetJobRequestSchema,
  GetNodeRequestSchema,
  HoldJobRequestSchema,
  JobSubmissionSchema,
  ListJobsRequestSchema,
  ListNodesRequestSchema,
  ListOfferedTasksRequestSchema,
  ListTasksRequestSchema,
  PutGroupRequestSchema,
  ReadOutputRequestSchema,
  ReleaseJobRequestSchema,
  RemoveNodeRequestSchema,
  ReportProgressRequestSchema,
  RequeueJobRequestSchema,
  RerunJobRequestSchema,
  SetNodeRequestSchema,
  SubmitJobspecRequestSchema,
  SubmitJobsRequestSchema,
  UpdateJobRequestSchema,
  WatchRequestSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import type { NodeStateName } from "../../../../core/model/node/node.ts";
import type { TaskStateName } from "../../../../core/model/progress.ts";
import type {
  JobFilter,
  JobPage,
  OutputQuery as ReadOutput,
  Page,
} from "../../../../server/operations/operations.ts";
import { USUAL_KINDS } from "../../../../server/watch/watch-filter.ts";
import { field, message, requestBody } from "./derived.ts";
import { querySchema } from "./query.ts";
import { flag, list, object, oneOf, optional } from "./schema.ts";

// Schemas of requests. Only shapes are checked here; the core checks values by the rules that the document shows, so that every door gives
// the same errors.

export const JobSubmission = message(JobSubmissionSchema);
export const ManySubmissions = message(SubmitJobsRequestSchema);
export const JobspecSubmission = message(SubmitJobspecRequestSchema);

/** Beside one submitted job. */
export const SubmitQuery = object({
  allowUnsatisfiable: optional(
    flag("Queue jobs that no registered node or cluster can run, instead of rejecting them"),
  ),
});

/**
 * One job, or many under `jobs`. The present fields decide the form, not the one that fits, so that a mistake in one form is not reported
 * as a mistake in the other.
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

export const JobQuery = querySchema<JobFilter & JobPage>(ListJobsRequestSchema);
export const TaskQuery = querySchema<Page & { readonly states?: readonly TaskStateName[] }>(
  ListTasksRequestSchema,
  "jobId",
);
export const NodeQuery = querySchema<
  Page & { readonly cluster?: string; readonly state?: NodeStateName }
>(ListNodesRequestSchema);
export const CountQuery = querySchema<{ readonly group?: string }>(CountJobsRequestSchema);
export const OfferedQuery = querySchema<{ readonly max?: number }>(
  ListOfferedTasksRequestSchema,
  "cluster",
);
export const OutputQuery = querySchema<Partial<ReadOutput>>(ReadOutputRequestSchema, "taskId");

// Short names, because people type them into a URL; `kind` replaces flags.
export const WatchQuery = object({
  after: optional(Type.Unsafe<number>(field(WatchRequestSchema, "afterRevision"))),
  job: optional(Type.Unsafe<string>(field(WatchRequestSchema, "jobId"))),
  group: optional(Type.Unsafe<string>(field(WatchRequestSchema, "group"))),
  kind: optional(list(oneOf(USUAL_KINDS, "Kind"), { description: "Only of these kinds" })),
});

export const ReasonBody = requestBody(CancelJobRequestSchema, "id");
export const HoldBody = requestBody(HoldJobRequestSchema, "id");
export const ReleaseBody = requestBody(ReleaseJobRequestSchema, "id");
export const RequeueBody = requestBody(RequeueJobRequestSchema, "id");
export const UpdateBody = requestBody(UpdateJobRequestSchema, "id");
export const RerunBody = requestBody(RerunJobRequestSchema, "id");
export const ProgressBody = requestBody(ReportProgressRequestSchema, "id");
export const NodeBody = requestBody(SetNodeRequestSchema, "name");
export const GroupBody = requestBody(PutGroupRequestSchema, "name");

export const JobPath = object({ id: Type.Unsafe<string>(field(GetJobRequestSchema, "id")) });
/** Of a job or a task. */
export const IdPath = object({ id: Type.Unsafe<string>(field(CancelJobRequestSchema, "id")) });
export const NamePath = object({ name: Type.Unsafe<string>(field(GetNodeRequestSchema, "name")) });

/** For a change whose body has no field for it. */
export const ConditionQuery = object({
  ifRevision: optional(Type.Unsafe<number>(field(RemoveNodeRequestSchema, "ifRevision"))),
});
