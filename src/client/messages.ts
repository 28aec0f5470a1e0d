/** The messages of the native API, for users of the client. */
export type {
  AttachResponse,
  Cluster,
  CountJobsResponse,
  Dependency,
  Explanation,
  Group,
  Instance,
  Job,
  JobSpec,
  JobSubmission,
  Node,
  OfferedTask,
  PastAttempt,
  Progress,
  Service,
  State,
  Stats,
  SubmitJobsResponse,
  SubmittedJob,
  Task,
  TaskCounts,
  TriedJob,
  TryJobsResponse,
  Usage,
  WatchEvent,
} from "../gen/busbar/v1/busbar_pb.ts";
export type {
  ClusterAnswer,
  IssuedCredentials,
  SatisfyResponse,
  Selection,
  StateEntry,
} from "../gen/busbar/v1/cluster_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AttachRequestSchema,
  JobFilterSchema,
  JobSubmissionSchema,
  SubmitJobspecRequestSchema,
} from "../gen/busbar/v1/busbar_pb.ts";

/** Plain objects that a request accepts in place of messages. */
export type JobSubmissionInit = MessageInitShape<typeof JobSubmissionSchema>;
export type AttachRequestInit = MessageInitShape<typeof AttachRequestSchema>;
export type JobFilterInit = MessageInitShape<typeof JobFilterSchema>;
export type SubmitJobspecInit = MessageInitShape<typeof SubmitJobspecRequestSchema>;
