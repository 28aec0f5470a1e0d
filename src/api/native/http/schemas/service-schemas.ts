import { Type } from "typebox";
import {
  AddInstancesRequestSchema,
  ApplyServiceRequestSchema,
  GetInstanceRequestSchema,
  GetServiceRequestSchema,
  ListInstancesRequestSchema,
  ListServicesRequestSchema,
  RemoveServiceRequestSchema,
  RollbackServiceRequestSchema,
  ScaleServiceRequestSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import type { Page } from "../../../../server/operations/operations.ts";
import { field, requestBody } from "./derived.ts";
import { querySchema } from "./query.ts";
import { object, optional } from "./schema.ts";

// Schemas of requests about services.

export const ServiceQuery = querySchema<Page>(ListServicesRequestSchema);
export const InstanceQuery = querySchema<Page>(ListInstancesRequestSchema, "service");

export const ApplyBody = requestBody(ApplyServiceRequestSchema, "name");
export const ScaleBody = requestBody(ScaleServiceRequestSchema, "name");
export const RollbackBody = requestBody(RollbackServiceRequestSchema, "name");
export const NamesBody = requestBody(AddInstancesRequestSchema, "service");

const name = Type.Unsafe<string>(field(GetServiceRequestSchema, "name"));
export const NamePath = object({ name });
export const InstancePath = object({
  name,
  instance: Type.Unsafe<string>(field(GetInstanceRequestSchema, "name")),
});

/** For a removal, which has no body. */
export const ReasonQuery = object({
  reason: optional(Type.Unsafe<string>(field(RemoveServiceRequestSchema, "reason"))),
  ifRevision: optional(Type.Unsafe<number>(field(RemoveServiceRequestSchema, "ifRevision"))),
});
