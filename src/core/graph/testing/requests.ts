import type { Requirement, ResourceRequest } from "../request/request.ts";

type Extra = Partial<Omit<ResourceRequest, "type" | "count" | "with">>;

/** `count` of a type, holding `inside`. */
export const want = (
  count: number,
  type: string,
  inside: readonly ResourceRequest[] = [],
  extra: Extra = {},
): ResourceRequest => ({
  type,
  count,
  unit: undefined,
  isSlot: false,
  isExclusive: false,
  label: undefined,
  requires: [],
  ...extra,
  with: inside,
});

/** The same as a slot. */
export const slots = (
  count: number,
  type: string,
  inside: readonly ResourceRequest[] = [],
  extra: Extra = {},
): ResourceRequest => want(count, type, inside, { ...extra, isSlot: true });

/** A subsystem's vertex whose field is exactly one of these. */
export const requireOne = (subsystem: string, field: string, ...values: string[]): Requirement => ({
  subsystem,
  conditions: [{ kind: "one-of", field, values }],
});
