import { unreachable } from "../../../lib/invariant.ts";
import type { Condition, Requirement, ResourceRequest } from "../../graph/request/request.ts";
import type {
  Attributes,
  Jobspec,
  JobspecItem,
  JobspecTask,
  NameChoice,
  NamedResource,
  Plain,
  Step,
  TaskGroup,
} from "../model.ts";

type Fields = { readonly [key: string]: Plain | undefined };
type PlainMap = { readonly [key: string]: Plain };

/**
 * The jobspec as a nextgen document. Groups are at its top and are placed by name, because other
 * nextgen tools expect them there.
 */
export function toNextgen(jobspec: Jobspec): PlainMap {
  const groups = groupsIn(jobspec.items).map(groupOf);
  return defined({
    version: 1,
    name: jobspec.name,
    attributes: attributesOf(jobspec.attributes),
    requires:
      jobspec.requires.size === 0
        ? undefined
        : mapOf(jobspec.requires, (set) => set.map(requirementOf)),
    resources: jobspec.resources.size === 0 ? undefined : mapOf(jobspec.resources, namedResourceOf),
    tasks: jobspec.items.map(entryOf),
    groups: groups.length === 0 ? undefined : groups,
  });
}

/** Without undefined fields. */
const defined = (fields: Fields): PlainMap =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]): [string, Plain][] =>
      value === undefined ? [] : [[key, value]],
    ),
  );

const mapOf = <T>(map: ReadonlyMap<string, T>, toPlain: (value: T) => Plain): PlainMap =>
  Object.fromEntries([...map].map(([key, value]): [string, Plain] => [key, toPlain(value)]));

const choiceOf = (choice: NameChoice | undefined): string | undefined =>
  choice?.map((names) => names.join("&")).join("|");

const groupsIn = (items: readonly JobspecItem[]): readonly TaskGroup[] =>
  items.flatMap((item) => (item.kind === "group" ? [item, ...groupsIn(item.items)] : []));

const entryOf = (item: JobspecItem): PlainMap =>
  item.kind === "group" ? { group: item.name } : taskOf(item);

const groupOf = (group: TaskGroup): PlainMap =>
  defined({ ...commonOf(group), tasks: group.items.map(entryOf) });

/** A dependency is visible from here by its last name: that is how it was resolved. */
const commonOf = (item: JobspecItem): Fields => ({
  name: item.name,
  resources: choiceOf(item.asks),
  requires: choiceOf(item.requires),
  depends_on:
    item.dependsOn.length === 0
      ? undefined
      : item.dependsOn.map((path) => path.slice(path.lastIndexOf("/") + 1)),
  attributes: attributesOf(item.attributes),
});

function taskOf(task: JobspecTask): PlainMap {
  const { work, processes } = task;
  const { run, scripts, steps } = work;
  // All tools recognise a script by its #!; without one, only Busbar does.
  const isKnown = run?.kind === "script" && run.text.startsWith("#!");
  const text = run?.kind === "script" ? run.text : undefined;
  const isUsual = processes.kind === "per-slot" && processes.count === 1;
  return defined({
    ...commonOf(task),
    local: task.isLocal ? true : undefined,
    replicas: task.replicas === 1 ? undefined : task.replicas,
    count: isUsual
      ? undefined
      : { [processes.kind === "total" ? "total" : "per_slot"]: processes.count },
    scripts:
      scripts.length === 0 ? undefined : scripts.map(({ name, content }) => ({ name, content })),
    steps: steps.length === 0 ? undefined : steps.map(stepOf),
    command: run?.kind === "command" ? [...run.argv] : isKnown ? text : undefined,
    script: isKnown ? undefined : text,
  });
}

function stepOf(step: Step): PlainMap {
  switch (step.kind) {
    case "stage":
      return { name: "stage", path: step.path };
    case "write":
      return { name: "write", filename: step.script, executable: step.isExecutable };
    case "submit":
      return { name: "submit", filename: step.script, watch: step.isWatched };
    case "batch":
      return { name: "batch", filename: step.script };
    case "set-shared":
      return setting("sharedfs", step.isShared);
    case "set-directory":
      return setting("stage", step.directory);
    default:
      return unreachable(step);
  }
}

const setting = (key: string, value: string | boolean | undefined): PlainMap =>
  value === undefined ? { name: "unset", key } : { name: "set", key, value };

export function attributesOf(attributes: Attributes): PlainMap | undefined {
  const { durationMs, cwd, environment, extras } = attributes;
  const fields = defined({
    duration: durationMs === undefined ? undefined : durationMs / 1_000,
    cwd,
    environment: Object.keys(environment).length === 0 ? undefined : environment,
    ...extras,
  });
  return Object.keys(fields).length === 0 ? undefined : fields;
}

const namedResourceOf = (resource: NamedResource): PlainMap =>
  defined({
    ...resourceOf(resource.request),
    attributes: attributesOf(resource.attributes),
    schedule: resource.isScheduled ? true : undefined,
  });

function resourceOf(request: ResourceRequest): PlainMap {
  const isCounted = !request.isSlot || request.type === "slot";
  return defined({
    type: request.type,
    [isCounted ? "count" : "replicas"]: request.count,
    unit: request.unit,
    label: request.label,
    exclusive: request.isExclusive ? true : undefined,
    requires: request.requires.length === 0 ? undefined : request.requires.map(requirementOf),
    with: request.with.length === 0 ? undefined : request.with.map(resourceOf),
  });
}

/** A list of values for another field, or a second one for the same field, becomes an attribute. */
function requirementOf({ subsystem, conditions }: Requirement): PlainMap {
  const [first] = conditions;
  let fields: Fields = {};
  for (const condition of conditions) {
    const isOwn = condition.field === first?.field && fields["match"] === undefined;
    if (isOwn || condition.kind !== "one-of") fields = { ...fields, ...conditionOf(condition) };
    else fields = { ...fields, attribute: condition.field, value: oneOf(condition.values) };
  }
  return defined({ name: subsystem, field: first?.field, ...fields });
}

function conditionOf(condition: Condition): Fields {
  switch (condition.kind) {
    case "one-of":
      return { match: oneOf(condition.values) };
    case "version":
      return { min: condition.min, max: condition.max };
    // Jobspecs cannot compare numbers, so no jobspec contains one.
    case "number":
    case "present":
      return {};
    default:
      return unreachable(condition);
  }
}

const oneOf = (values: readonly string[]): Plain =>
  values.length === 1 ? (values[0] ?? "") : [...values];
