import type { MessageRules, Rule } from "../../../lib/rules.ts";
import { limits } from "../../../limits.ts";
import { NAME_RULE } from "../ids.ts";
import { RESOURCE_NAME_RULE } from "../resources.ts";
import { LABELS_RULE, PRINTABLE } from "../texts.ts";
import { ARRAY_PATTERN } from "./array-range.ts";
import { DEPENDENCY_KINDS, REFERENCE_RULE } from "./dependency.ts";
import { PLAIN_RULES } from "./plain-fields.ts";
import { VARIABLE_NAME_RULE } from "./variable-names.ts";

/** Neither an argument nor a variable can hold a NUL byte: the kernel would cut it there. */
const NO_NUL: Rule = { pattern: "^[^\\u0000]*$" };
const NOT_BLANK: Rule = { minLength: 1, pattern: "^[^\\u0000]*\\S[^\\u0000]*$" };

const duration = (minimum: number) => ({ minimum, maximum: limits.durationMsMax });

/**
 * What the fields of a spec must be. job-spec.ts checks by these rules, and the documents of the API and of
 * job files show them. A new field has its rule here.
 */
export const SPEC_RULES = {
  name: { minLength: 1, maxLength: limits.nameLengthMax, pattern: PRINTABLE },
  group: NAME_RULE,
  labels: LABELS_RULE,
  command: {
    minItems: 1,
    maxItems: limits.argumentsMax,
    items: NO_NUL,
    prefixItems: [{ ...NO_NUL, minLength: 1 }],
    examples: [["sleep", "1"]],
  },
  script: { ...NOT_BLANK, maxLength: limits.workBytesMax },
  jobspec: { ...NOT_BLANK, maxLength: limits.jobspecCharsMax },
  env: {
    maxProperties: limits.envVariablesMax,
    propertyNames: VARIABLE_NAME_RULE,
    additionalProperties: NO_NUL,
  },
  cwd: { maxLength: 4_096, pattern: "^/[^\\u0000]*$" },
  resources: {
    maxProperties: limits.resourceNamesMax - 1, // cpu is added where it is not named
    propertyNames: RESOURCE_NAME_RULE,
    additionalProperties: { minimum: 0, maximum: 2 ** 40 },
  },
  array: { pattern: ARRAY_PATTERN, examples: ["0-99", "1-9:2", "0-3,8"] },
  ...PLAIN_RULES,
  priority: { minimum: -limits.priorityMax, maximum: limits.priorityMax },
  timeLimitMs: duration(1),
  killGraceMs: duration(0),
  queueDeadlineMs: duration(1),
  outputLimitBytes: { minimum: 0, maximum: limits.outputBytesMax },
  dependsOn: { maxItems: limits.dependenciesPerJobMax },
  request: { type: "array" },
} as const satisfies Readonly<Record<string, Rule>>;

export const RETRIES_RULES = {
  max: { minimum: 0, maximum: limits.retriesMax },
  backoffMs: duration(0),
  backoffMaxMs: duration(0),
} as const satisfies Readonly<Record<string, Rule>>;

export const PLACEMENT_RULES = {
  kind: { enum: ["managed", "pulling"] },
  cluster: NAME_RULE,
  node: NAME_RULE,
  labels: LABELS_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

export const DEPENDENCY_RULES = {
  kind: { enum: DEPENDENCY_KINDS },
  on: { minItems: 1, maxItems: limits.dependenciesPerJobMax, items: REFERENCE_RULE },
  atLeast: { minimum: 1 },
  name: REFERENCE_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

/** Fields that exclude each other. */
export const SPEC_GROUPS: Omit<MessageRules, "fields"> = {
  exactlyOne: ["command", "script", "jobspec"],
  atMostOne: ["resources", "request"],
};
