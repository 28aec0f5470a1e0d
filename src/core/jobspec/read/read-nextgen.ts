import type { Requirement } from "../../graph/request/request.ts";
import {
  type Draft,
  type DraftGroup,
  type DraftTask,
  freeName,
  type GroupPlacing,
  type NameAt,
  type Reference,
} from "./draft.ts";
import type { NamedResource } from "../model.ts";
import { ATTRIBUTE_HINTS, readAttributes } from "./read-attributes.ts";
import { readProcesses } from "./read-processes.ts";
import { readRequirements } from "./read-requires.ts";
import { readResource } from "./read-resource.ts";
import { readWork } from "./read-work.ts";
import {
  checkNameAt,
  choiceOf,
  reportProblem,
  countOf,
  entriesOf,
  fieldsOf,
  flagOf,
  isList,
  isMap,
  itemsOf,
  nameOf,
  type Place,
  quote,
  titleOf,
} from "./reader.ts";

const TOP_KEYS = [
  "version",
  "name",
  "requires",
  "resources",
  "groups",
  "tasks",
  "attributes",
] as const;
const GROUP_KEYS = [
  "name",
  "resources",
  "requires",
  "depends_on",
  "attributes",
  "tasks",
  "groups",
] as const;
const TASK_KEYS = [
  "name",
  "resources",
  "requires",
  "depends_on",
  "attributes",
  "group",
  "local",
  "replicas",
  "command",
  "script",
  "scripts",
  "steps",
  "count",
] as const;
const PLACING_KEYS: readonly string[] = ["group", "name", "depends_on"];

const HINTS = {
  ...ATTRIBUTE_HINTS,
  slot: 'a task names its resources under "resources"',
  transform: 'did you mean "steps"?',
};

/** Collected over the document: the names given to items that have none. */
interface Gathered {
  readonly resources: Map<string, NamedResource>;
  readonly requires: Map<string, readonly Requirement[]>;
  /** Draft 2 writes resources and requirements where they are used. */
  isDraft2: boolean;
}

/** Draft 2 and nextgen: a map of resources, lists of tasks and groups. */
export function readNextgen(
  place: Place,
  { mayLackTasks = false }: { readonly mayLackTasks?: boolean },
): Draft {
  const fields = fieldsOf(place, TOP_KEYS, ATTRIBUTE_HINTS);
  const gathered: Gathered = { resources: new Map(), requires: new Map(), isDraft2: false };
  const [resources, requires, tasks, groups, name] = [
    fields.get("resources"),
    fields.get("requires"),
    mayLackTasks ? unlessNull(fields.get("tasks")) : fields.get("tasks"),
    mayLackTasks ? unlessNull(fields.get("groups")) : fields.get("groups"),
    fields.get("name"),
  ];
  if (resources !== undefined) readResources(resources, gathered);
  const requiredByAll = requires === undefined ? undefined : readTopRequires(requires, gathered);
  if (tasks === undefined && groups === undefined && !mayLackTasks) {
    reportProblem(place, "has nothing to run: it needs tasks or groups");
  }
  const attributes = readAttributes(fields.get("attributes"));
  const readTasks = tasks === undefined ? [] : readTaskList(tasks, gathered);
  const readGroups = groups === undefined ? [] : readGroupList(groups, gathered);
  const isEmpty = readTasks.length + readGroups.length === 0;
  if (isEmpty && !mayLackTasks && place.problems.count === 0) {
    reportProblem(place, "has nothing to run");
  }
  return {
    dialect: gathered.isDraft2 ? "draft-2" : "nextgen",
    place,
    name: name === undefined ? undefined : titleOf(name),
    attributes,
    resources: gathered.resources,
    requires: gathered.requires,
    requiredByAll,
    tasks: readTasks,
    groups: readGroups,
  };
}

/** Go programs write null for an empty list. */
const unlessNull = (place: Place | undefined): Place | undefined =>
  place?.tree.kind === "scalar" && place.tree.value === null ? undefined : place;

export function readResources(place: Place, into: { resources: Map<string, NamedResource> }): void {
  for (const [name, value] of entriesOf(place)) {
    const checked = checkNameAt(value, name);
    const resource = readResource(value);
    // An invalid resource is still defined, so that references to it are no further problem.
    if (checked !== undefined) into.resources.set(name, resource ?? MISREAD);
  }
}

const MISREAD: NamedResource = {
  at: { line: 1, column: 1 },
  request: {
    type: "",
    count: 1,
    unit: undefined,
    isSlot: false,
    isExclusive: false,
    label: undefined,
    requires: [],
    with: [],
  },
  attributes: readAttributes(undefined),
  isScheduled: false,
};

/**
 * Lists are named sets, which tasks refer to. Anything else applies to the whole document: a map of
 * subsystems (draft 2), or a list without names (as in the Go library).
 */
function readTopRequires(place: Place, gathered: Gathered): string | undefined {
  const all: Requirement[] = [];
  if (isList(place)) all.push(...readRequirements(place));
  else {
    const { tree } = place;
    for (const [name, value] of entriesOf(place)) {
      if (!isList(value)) continue;
      if (checkNameAt(value, name) !== undefined) {
        gathered.requires.set(name, readRequirements(value));
      }
    }
    if (tree.kind === "map") {
      const entries = tree.entries.filter(({ value }) => value.kind !== "list");
      if (entries.length > 0) gathered.isDraft2 = true;
      all.push(...readRequirements({ ...place, tree: { ...tree, entries } }));
    }
  }
  return all.length === 0 ? undefined : addSet("all", all, gathered);
}

function addSet(base: string, set: readonly Requirement[], gathered: Gathered): string {
  const name = freeName(base, (each) => gathered.requires.has(each));
  gathered.requires.set(name, set);
  return name;
}

function readTaskList(place: Place, gathered: Gathered): readonly (DraftTask | GroupPlacing)[] {
  return itemsOf(place).flatMap((item, index): readonly (DraftTask | GroupPlacing)[] => {
    const fields = fieldsOf(item, TASK_KEYS, HINTS);
    if (!isMap(item)) return [];
    const group = fields.get("group");
    if (group === undefined) return [readTask(item, fields, `task-${index}`, gathered)];
    const placing = readPlacing(item, fields, group);
    return placing === undefined ? [] : [placing];
  });
}

type Fields<Key extends string> = ReadonlyMap<Key, Place>;

function readPlacing(
  place: Place,
  fields: Fields<(typeof TASK_KEYS)[number]>,
  group: Place,
): GroupPlacing | undefined {
  for (const [key, value] of fields) {
    if (!PLACING_KEYS.includes(key)) {
      reportProblem(
        value,
        `a task that places a group has only depends_on; write ${key} in the group`,
      );
    }
  }
  const name = nameOf(group);
  const own = readNameAt(fields.get("name"));
  if (own !== undefined && own.name !== name) {
    reportProblem(
      own.place,
      `a group has its own name: leave this out, or write ${quote(name ?? "")}`,
    );
  }
  if (name === undefined) return undefined;
  const dependsOn = readDependsOn(fields.get("depends_on"));
  return { kind: "placing", place, group: { place: group, name }, dependsOn };
}

function readTask(
  place: Place,
  fields: Fields<(typeof TASK_KEYS)[number]>,
  defaultName: string,
  gathered: Gathered,
): DraftTask {
  const name = readNameAt(fields.get("name"));
  const [local, replicas, count] = [
    fields.get("local"),
    fields.get("replicas"),
    fields.get("count"),
  ];
  if (count !== undefined && replicas !== undefined)
    reportProblem(count, "write either count or replicas, not both");
  return {
    kind: "task",
    place,
    name,
    ...readCommon(fields, name?.name ?? defaultName, gathered),
    replicas: (replicas === undefined ? undefined : countOf(replicas)) ?? 1,
    processes: readProcesses(count),
    isLocal: (local === undefined ? undefined : flagOf(local)) ?? false,
    work: readWork(place, {
      command: fields.get("command"),
      script: fields.get("script"),
      scripts: fields.get("scripts"),
      steps: fields.get("steps"),
      stepKey: "name",
    }),
  };
}

function readGroupList(place: Place, gathered: Gathered): readonly DraftGroup[] {
  return itemsOf(place).flatMap((item, index) => {
    const fields = fieldsOf(item, GROUP_KEYS, ATTRIBUTE_HINTS);
    if (!isMap(item)) return [];
    const [tasks, groups] = [fields.get("tasks"), fields.get("groups")];
    if (tasks === undefined && groups === undefined) reportProblem(item, "needs tasks or groups");
    const name = readNameAt(fields.get("name"));
    const common = readCommon(fields, name?.name ?? `group-${index}`, gathered);
    const readTasks = tasks === undefined ? [] : readTaskList(tasks, gathered);
    const readGroups = groups === undefined ? [] : readGroupList(groups, gathered);
    if (tasks?.tree.kind === "list" && readTasks.length + readGroups.length === 0) {
      reportProblem(item, "has nothing to run");
    }
    return [{ kind: "group", place: item, name, ...common, tasks: readTasks, groups: readGroups }];
  });
}

function readCommon(
  fields: Fields<"resources" | "requires" | "depends_on" | "attributes" | (string & {})>,
  name: string,
  gathered: Gathered,
) {
  return {
    asks: readAsks(fields.get("resources"), name, gathered),
    requires: readRequires(fields.get("requires"), name, gathered),
    dependsOn: readDependsOn(fields.get("depends_on")),
    attributes: readAttributes(fields.get("attributes")),
  };
}

function readAsks(
  place: Place | undefined,
  owner: string,
  gathered: Gathered,
): Reference | undefined {
  if (place === undefined) return undefined;
  if (!isMap(place)) {
    const choice = choiceOf(place);
    return choice === undefined ? { place, choice: [] } : { place, choice };
  }
  gathered.isDraft2 = true;
  const resource = readResource(place) ?? MISREAD;
  const name = freeName(`${owner}-resources`, (each) => gathered.resources.has(each));
  gathered.resources.set(name, resource);
  return { place, choice: [[name]] };
}

function readRequires(
  place: Place | undefined,
  owner: string,
  gathered: Gathered,
): Reference | undefined {
  if (place === undefined) return undefined;
  if (!isMap(place) && !isList(place)) {
    const choice = choiceOf(place);
    return choice === undefined ? undefined : { place, choice };
  }
  if (isMap(place)) gathered.isDraft2 = true;
  const set = readRequirements(place);
  return { place, choice: [[addSet(`${owner}-requires`, set, gathered)]] };
}

function readNameAt(place: Place | undefined): NameAt | undefined {
  const name = place === undefined ? undefined : nameOf(place);
  return place === undefined || name === undefined ? undefined : { place, name };
}

function readDependsOn(place: Place | undefined): readonly NameAt[] {
  if (place === undefined) return [];
  const seen = new Set<string>();
  return itemsOf(place).flatMap((item) => {
    const found = readNameAt(item);
    if (found === undefined) return [];
    if (seen.has(found.name)) reportProblem(item, `${quote(found.name)} appears twice`);
    seen.add(found.name);
    return [found];
  });
}
