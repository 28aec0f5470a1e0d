import { type Static, Type } from "typebox";
import {
  CountJobsResponseSchema,
  ExplanationSchema,
  GroupSchema,
  InstanceSchema,
  InstancesResponseSchema,
  JobSchema,
  ListGroupsResponseSchema,
  ListInstancesResponseSchema,
  ListJobsResponseSchema,
  ListNodesResponseSchema,
  ListServicesResponseSchema,
  ListTasksResponseSchema,
  NodeSchema,
  RemoveNodeResponseSchema,
  ServiceSchema,
  StatsSchema,
  SubmitJobsResponseSchema,
  SubmittedJobSchema,
  TaskSchema,
  TryJobsResponseSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import { field, message, requestBody } from "./derived.ts";

// Schemas of answers: the JSON of the wire's messages. Views are sent unchanged; the compiler checks in every route that a view fits, and
// so does a test.

export const Job = message(JobSchema);
export const JobPage = message(ListJobsResponseSchema);
export const Task = message(TaskSchema);
export const TaskPage = message(ListTasksResponseSchema);
export const Node = message(NodeSchema);
export const NodePage = message(ListNodesResponseSchema);
export const Group = message(GroupSchema);
export const Groups = message(ListGroupsResponseSchema);
export const Service = message(ServiceSchema);
export const ServicePage = message(ListServicesResponseSchema);
export const Instance = message(InstanceSchema);
export const InstancePage = message(ListInstancesResponseSchema);
export const Instances = message(InstancesResponseSchema);
export const Explanation = message(ExplanationSchema);
export const Stats = message(StatsSchema);
export const Counts = message(CountJobsResponseSchema);
export const Tried = message(TryJobsResponseSchema);
export const Removed = requestBody(RemoveNodeResponseSchema);

/** The answer to a submission: one job for one, a list for a list. */
export const ManySubmitted = message(SubmitJobsResponseSchema);
const one = requestBody(SubmittedJobSchema) as unknown as {
  readonly properties: object;
  readonly required: readonly string[];
};
export const OneSubmitted = Type.Unsafe<Static<typeof Submitted> & { readonly revision: number }>({
  ...one,
  properties: { ...one.properties, revision: field(SubmitJobsResponseSchema, "revision") },
  required: [...one.required, "revision"],
});
const Submitted = message(SubmittedJobSchema);
