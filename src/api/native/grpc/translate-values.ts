import { parseBoundedJson } from "../../../lib/bytes/json-size.ts";
import { limits } from "../../../limits.ts";
import type { StateValue } from "../../../core/graph/cluster-state.ts";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import type * as wire from "../../../gen/busbar/v1/cluster_pb.ts";
import { SelectionSchema, ValueSchema } from "../../../gen/busbar/v1/cluster_pb.ts";
import { invalid, unprocessable } from "../../../lib/errors.ts";
import { toJson } from "../../../wire/write-json.ts";
import { message } from "../../grpc/calls/wire-message.ts";

// Values and JSON inside messages of the wire.

export function fromJson(text: string, field: string): unknown {
  try {
    return parseBoundedJson(text, limits);
  } catch (cause) {
    throw unprocessable(
      field,
      `is not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`,
    );
  }
}

export function fromValues(
  values: Readonly<Record<string, wire.Value>>,
  field: string,
): Record<string, StateValue> {
  return Object.fromEntries(
    Object.entries(values).map(([key, { value }]) => {
      if (value.case === undefined) {
        throw invalid(`${field}.${key}`, "needs a number, a text or a flag");
      }
      return [key, value.value];
    }),
  );
}

export function toValue(value: StateValue): wire.Value {
  if (typeof value === "number") return message(ValueSchema, { value: { case: "number", value } });
  if (typeof value === "string") return message(ValueSchema, { value: { case: "text", value } });
  return message(ValueSchema, { value: { case: "flag", value } });
}

export function fromSelect(
  selection: wire.Selection | undefined,
  field: string,
): JobSpecInput["select"] {
  if (selection === undefined) return undefined;
  checkSelect(selection, field);
  return toJson(SelectionSchema, selection);
}

/** Cases that its JSON would hide: an invalid text, and an absent value. */
export function checkSelect({ options, parameters }: wire.Selection, field: string): void {
  if (options !== undefined) fromJson(options, `${field}.options`);
  fromValues(parameters, `${field}.parameters`);
}
