import type { MessageRules, Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { NAME_RULE } from "../ids.ts";
import { AMOUNTS_RULE } from "../resources.ts";
import { LABELS_RULE, PRINTABLE } from "../texts.ts";
import { ARRAY_PATTERN } from "./array-range.ts";
import { ARGS_RULE, ENTRIES_RULE } from "./arrays/entries.ts";
import { ENERGY_RULES } from "./energy.ts";
import { DEPENDENCY_KINDS, REFERENCE_RULE } from "./dependency.ts";
import { SELECTION_RULES } from "./select-reader.ts";
import { PLAIN_RULES } from "./plain-fields.ts";
import { CONTAINER_FIELD_RULES, CONTAINER_RULES, MOUNT_RULES } from "./containers/containers.ts";
import { COMMAND_RULE, ENV_RULE } from "./env.ts";
import { NOT_OF_SERVICES, SERVICE_TERMS_RULES } from "../service/service-terms.ts";

const NOT_BLANK: Rule = { minLength: 1, pattern: "^[^\\u0000]*\\S[^\\u0000]*$" };

const duration = (minimum: number) => ({ minimum, maximum: limits.durationMsMax });

/**
 * The rules of the fields of a spec. job-spec.ts validates by these rules, and the documents of the API
 * and of job files show them. A new field has its rule here.
 */
export const SPEC_RULES = {
  name: { minLength: 1, maxLength: limits.nameLengthMax, pattern: PRINTABLE },
  group: NAME_RULE,
  labels: LABELS_RULE,
  command: COMMAND_RULE,
  script: { ...NOT_BLANK, maxLength: limits.workBytesMax },
  jobspec: { ...NOT_BLANK, maxLength: limits.jobspecCharsMax },
  workload: { ...NOT_BLANK, maxLength: limits.workBytesMax },
  env: ENV_RULE,
  cwd: { maxLength: 4_096, pattern: "^/[^\\u0000]*$" },
  resources: {
    maxProperties: limits.resourceNamesMax - 1, // cpu is added when it is not named
    ...AMOUNTS_RULE,
  },
  array: { pattern: ARRAY_PATTERN, examples: ["0-99", "1-9:2", "0-3,8", "0-99%5"] },
  args: ARGS_RULE,
  entries: ENTRIES_RULE,
  ...PLAIN_RULES,
  ...CONTAINER_FIELD_RULES,
  priority: { minimum: -limits.priorityMax, maximum: limits.priorityMax },
  timeLimitMs: duration(1),
  killGraceMs: duration(0),
  queueDeadlineMs: duration(1),
  outputLimitBytes: { minimum: 0, maximum: limits.outputBytesMax },
  dependsOn: { maxItems: limits.dependenciesPerJobMax },
  request: { type: "array", minItems: 1 },
} as const satisfies Readonly<Record<string, Rule>>;

export const RETRIES_RULES = {
  max: { minimum: 0, maximum: limits.retriesMax },
  backoffMs: duration(0),
  backoffMaxMs: duration(0),
} as const satisfies Readonly<Record<string, Rule>>;

const PLACEMENT_RULES = {
  kind: { enum: ["managed", "pulling", "any"] },
  cluster: NAME_RULE,
  node: NAME_RULE,
  labels: LABELS_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

const DEPENDENCY_RULES = {
  kind: { enum: DEPENDENCY_KINDS },
  on: { minItems: 1, maxItems: limits.dependenciesPerJobMax, items: REFERENCE_RULE },
  atLeast: { minimum: 1 },
  name: REFERENCE_RULE,
} as const satisfies Readonly<Record<string, Rule>>;

/** A singleton has a name; any other dependency names jobs. */
const DEPENDENCY_GROUPS: Omit<MessageRules, "fields"> = {
  forms: [
    { field: "kind", words: ["singleton"], required: ["name"], forbidden: ["on", "atLeast"] },
    {
      field: "kind",
      words: DEPENDENCY_KINDS.filter((kind) => kind !== "singleton"),
      isDefault: true,
      required: ["on"],
      forbidden: ["name"],
    },
  ],
};

/** Fields that exclude each other. */
const SPEC_GROUPS: Omit<MessageRules, "fields"> = {
  exactlyOne: ["command", "script", "jobspec", "workload"],
  orNoneWith: ["energy", "image", "containers"],
  atMostOne: [
    ["resources", "request"],
    ["jobspec", "array"],
    ["image", "containers"],
    ...["jobspec", "energy", "workload"].flatMap((name) => [
      [name, "image"],
      [name, "containers"],
    ]),
    ["containers", "command"],
    ["containers", "script"],
    ...["array", "request", "select", "jobspec", "workload"].map((name) => ["energy", name]),
    ...Object.keys(NOT_OF_SERVICES).map((name) => ["service", name]),
  ],
  onlyInRequests: true,
};

/** The rules of a spec and of its parts, by the names of the messages. */
export const SPEC_MESSAGE_RULES: Readonly<Record<string, MessageRules>> = {
  JobSpec: { fields: SPEC_RULES, ...SPEC_GROUPS },
  Retries: { fields: RETRIES_RULES },
  Energy: { fields: ENERGY_RULES },
  Mount: { fields: MOUNT_RULES },
  Container: { fields: CONTAINER_RULES },
  ServiceTerms: { fields: SERVICE_TERMS_RULES },
  Placement: { fields: PLACEMENT_RULES },
  Dependency: { fields: DEPENDENCY_RULES, ...DEPENDENCY_GROUPS },
  Selection: SELECTION_RULES,
};
