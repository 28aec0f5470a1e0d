import type { DescMessage } from "@bufbuild/protobuf";
import {
  ClusterSchema,
  GroupSchema,
  InstanceSchema,
  JobSchema,
  NodeSchema,
  ServiceSchema,
  TaskSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import type { METHODS } from "./methods.ts";

/** A field whose value is the answer of a method about its row. */
export interface RowLink {
  readonly on: DescMessage;
  readonly name: string;
  readonly method: keyof typeof METHODS;
  /** Fields of the request, each from a field of the row. */
  readonly bind: Readonly<Record<string, string>>;
  readonly description: string;
}

/** The relations between rows and methods of the .proto files. */
export const LINKS: readonly RowLink[] = [
  {
    on: JobSchema,
    name: "explanation",
    method: "explainJob",
    bind: { id: "id" },
    description: "Why it is in its state, and what would help",
  },
  {
    on: JobSchema,
    name: "taskList",
    method: "listTasks",
    bind: { jobId: "id" },
    description: "Its tasks, by array index",
  },
  {
    on: TaskSchema,
    name: "job",
    method: "getJob",
    bind: { id: "jobId" },
    description: "The job it belongs to",
  },
  {
    on: TaskSchema,
    name: "onNode",
    method: "getNode",
    bind: { name: "node" },
    description: "The node that runs or ran it",
  },
  {
    on: NodeSchema,
    name: "jobs",
    method: "listJobs",
    bind: { node: "name" },
    description: "Jobs with tasks that are or were there, newest first",
  },
  {
    on: NodeSchema,
    name: "inCluster",
    method: "getCluster",
    bind: { name: "cluster" },
    description: "The cluster that it belongs to",
  },
  {
    on: ClusterSchema,
    name: "nodeList",
    method: "listNodes",
    bind: { cluster: "name" },
    description: "Its nodes with agents, by name",
  },
  {
    on: ClusterSchema,
    name: "jobs",
    method: "listJobs",
    bind: { cluster: "name" },
    description: "Jobs with tasks that are or were there, newest first",
  },
  {
    on: ClusterSchema,
    name: "graph",
    method: "getClusterGraph",
    bind: { name: "name" },
    description: "Its graph",
  },
  {
    on: ServiceSchema,
    name: "instanceList",
    method: "listInstances",
    bind: { service: "name" },
    description: "Its instances, by number and name",
  },
  {
    on: InstanceSchema,
    name: "job",
    method: "getJob",
    bind: { id: "jobId" },
    description: "Its current or last job",
  },
  {
    on: GroupSchema,
    name: "jobs",
    method: "listJobs",
    bind: { group: "name" },
    description: "Its jobs, newest first",
  },
];
