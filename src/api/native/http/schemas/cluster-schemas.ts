import { Type } from "typebox";
import type { StateValue } from "../../../../core/graph/cluster-state.ts";
import { PRINTABLE } from "../../../../core/model/texts.ts";
import { limits } from "../../../../limits.ts";
import { ClusterSchema, ListClustersResponseSchema } from "../../../../gen/busbar/v1/busbar_pb.ts";
import {
  AddSubsystemRequestSchema,
  GetClusterRequestSchema,
  RegisterClusterRequestSchema,
  RotateClusterCredentialsRequestSchema,
  RotateClusterCredentialsResponseSchema,
  SatisfyRequestSchema,
  SatisfyResponseSchema,
  SetCredentialsRequestSchema,
  SetCredentialsResponseSchema,
  StateCountersSchema,
} from "../../../../gen/busbar/v1/cluster_pb.ts";
import { field, message, requestBody } from "./derived.ts";
import { object } from "./schema.ts";

// Schemas of requests and answers about clusters.

export const Cluster = message(ClusterSchema);
export const Clusters = message(ListClustersResponseSchema);
export const RegisterBody = requestBody(RegisterClusterRequestSchema);
export const RotateBody = requestBody(RotateClusterCredentialsRequestSchema, "cluster");
export const Rotated = message(RotateClusterCredentialsResponseSchema);
export const CredentialsBody = requestBody(SetCredentialsRequestSchema);
export const CredentialsSet = message(SetCredentialsResponseSchema);
export const CountersBody = requestBody(StateCountersSchema);
export const SatisfyBody = requestBody(SatisfyRequestSchema);
export const Satisfied = message(SatisfyResponseSchema);

// Specific to HTTP: a body that is a document, or keys and values.

const DOCUMENT = "A JSON Graph Format document, version 2";
/** Sent as plain text. */
export const GraphText = Type.Unsafe<string>({ type: "object", description: DOCUMENT });
export const DocumentBody = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: "object",
  description: DOCUMENT,
});
export const SubsystemPath = object({
  name: Type.Unsafe<string>(field(GetClusterRequestSchema, "name")),
  subsystem: Type.Unsafe<string>(field(AddSubsystemRequestSchema, "name")),
});
export const StateBody = Type.Unsafe<Readonly<Record<string, StateValue | null>>>({
  type: "object",
  minProperties: 1,
  propertyNames: { minLength: 1, maxLength: limits.nameLengthMax, pattern: PRINTABLE },
  additionalProperties: { type: ["number", "string", "boolean", "null"] },
  description: "Keys and values; null removes a key, other keys stay as they are",
  examples: [{ nodes_free: 20, zone: "north", spot: null }],
});
