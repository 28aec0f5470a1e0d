import { AppError } from "../../lib/errors.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { isUndecodable } from "../grpc/calls/codec.ts";
import { type GrpcStatus, toGrpcStatus } from "../grpc/status.ts";

/**
 * The error messages of rainbow's server, word for word: its clients show them, and scripts look for them.
 * Errors that rainbow does not have are in Busbar's words.
 */
export const refuse = {
  denied: () => new AppError("permission_denied", "request denied"),
  noNodes: () => new AppError("invalid_argument", "cluster nodes are required"),
  badNodes: (why: string) =>
    new AppError(
      "invalid_argument",
      `cluster nodes are invalid: error unmarshalling json graph: ${why}`,
    ),
  emptyGraph: () =>
    new AppError("invalid_argument", "subsystem cluster must have at least one edge and node"),
  edgeWithout: (end: "source" | "destination", label: string) =>
    new AppError(
      "invalid_argument",
      `${end} ${label} is defined as an edge, but missing as node in graph`,
    ),
  unknownDominant: (name: string) =>
    new AppError(
      "invalid_argument",
      `subsystem ${name} does not exist. Ensure it is created first`,
    ),
  incompleteSubsystem: () =>
    new AppError("invalid_argument", "subsystem nodes, name, cluster name and secret are required"),
  subsystemExists: (name: string, cluster: string) =>
    new AppError("already_exists", `subsystem ${name} already exists for cluster ${cluster}`),
  incompleteState: () =>
    new AppError("invalid_argument", "cluster, name, secret, and state file payload are required"),
  notAState: (kind: string) =>
    new AppError(
      "invalid_argument",
      `json: cannot unmarshal ${kind} into Go value of type types.ClusterState`,
    ),
  incompleteDelete: () => new AppError("invalid_argument", "cluster name and secret are required"),
  noSubsystem: (name: string, cluster: string) =>
    new AppError("not_found", `cluster graph ${cluster} does not have subsystem ${name}`),
  dominantSubsystem: (cluster: string) =>
    new AppError(
      "invalid_argument",
      `subsystem cluster is the graph of ${cluster} itself; delete the cluster instead`,
    ),
  tooManyToGuess: (clusters: number) =>
    new AppError(
      "exhausted",
      `${clusters} clusters are too many to try: name yours in the gRPC metadata busbar-clusters`,
    ),
  noToken: () => new AppError("invalid_argument", "a cluster token is required"),
  noClusters: () =>
    new AppError("invalid_argument", "one or more authenticated clusters are required"),
  noAlgorithm: (name: string) =>
    new AppError("invalid_argument", `did not find algorithm named ${name}`),
  noneSelected: (why: readonly string[]) =>
    new AppError(
      "unschedulable",
      `no clusters passed selection${why.length === 0 ? "" : `: ${why.join(" | ")}`}`,
    ),
  tooLarge: (bytes: number) =>
    new AppError(
      "exhausted",
      `the job has ${bytes} bytes as JSON, more than a cluster can receive`,
    ),
  noSecret: () => new AppError("invalid_argument", "a cluster secret is required"),
  noJobs: () => new AppError("invalid_argument", "one or more jobs must be accepted"),
  noJobspec: () => new AppError("invalid_argument", "unexpected end of JSON input"),
  graphExists: (name: string) =>
    new AppError(
      "already_exists",
      `cluster graph ${name} already exists and cannot be added again`,
    ),
} as const;

/**
 * Every rejection is UNKNOWN, like every error of rainbow's server. Only codes that gRPC itself sends there stay: too much data, a server
 * that stops, an internal failure, and INTERNAL for a request that is no protobuf.
 */
export function toStatus(error: unknown): GrpcStatus {
  const status = toGrpcStatus(error);
  if (isUndecodable(error)) return { ...status, code: GRPC.INTERNAL };
  const isGrpcs =
    status.code === GRPC.RESOURCE_EXHAUSTED ||
    status.code === GRPC.UNAVAILABLE ||
    status.code === GRPC.INTERNAL;
  return isGrpcs ? status : { ...status, code: GRPC.UNKNOWN };
}
