import type { Requirement, ResourceRequest } from "../../graph/request/request.ts";
import type { Draft, DraftTask, Reference } from "./draft.ts";
import type { NamedResource } from "../model.ts";
import { readAttributes } from "./read-attributes.ts";
import { readResources } from "./read-nextgen.ts";
import { readProcesses } from "./read-processes.ts";
import { readRequirements } from "./read-requires.ts";
import { readResource } from "./read-resource.ts";
import { readWork } from "./read-work.ts";
import {
  choiceOf,
  reportProblem,
  fieldsOf,
  isList,
  isMap,
  isText,
  isTitle,
  itemsOf,
  nameOf,
  type Place,
  quote,
  suggest,
  textOf,
  titleOf,
} from "./reader.ts";

const TASK_KEYS = ["command", "slot", "count", "resources", "attributes"] as const;
const EXPERIMENTAL_TASK_KEYS = [...TASK_KEYS, "name", "scripts", "transform"] as const;

/** Flux V1: one resource, one task in its slots, attributes of the system. */
export function readFluxV1(place: Place): Draft {
  const fields = fieldsOf(place, ["version", "resources", "tasks", "attributes"]);
  const tasks = fields.get("tasks");
  if (tasks === undefined) reportProblem(place, 'needs "tasks"');
  const [first, second] = tasks === undefined ? [] : itemsOf(tasks);
  if (tasks !== undefined && isList(tasks) && first === undefined) reportProblem(tasks, "is empty");
  if (second !== undefined) reportProblem(second, "Flux V1 has one task");
  return readOneTask(place, fields, first, "flux-v1");
}

/** The experimental dialect: the same with one task, which may have scripts. */
export function readExperimental(place: Place): Draft {
  const fields = fieldsOf(place, ["version", "name", "resources", "task", "attributes"], {
    tasks: 'either "task" or "tasks"',
  });
  return readOneTask(place, fields, fields.get("task"), "experimental");
}

function readOneTask(
  place: Place,
  fields: ReadonlyMap<string, Place>,
  task: Place | undefined,
  dialect: "flux-v1" | "experimental",
): Draft {
  const resources = readOneResource(place, fields.get("resources"));
  const attributes = readAttributes(fields.get("attributes"));
  const requires = new Map<string, readonly Requirement[]>();
  const name = fields.get("name");
  const read =
    task === undefined ? undefined : readTask(task, { dialect, resources, requires, place });
  return {
    dialect,
    place,
    name: name === undefined ? jobName(attributes.extras["system"]) : titleOf(name),
    attributes,
    resources,
    requires,
    requiredByAll: undefined,
    tasks: read === undefined ? [] : [read],
    groups: [],
  };
}

/** Flux stores the name of a job in attributes.system.job.name. */
function jobName(system: unknown): string | undefined {
  const job = (system as { readonly job?: { readonly name?: unknown } } | undefined)?.job;
  const name = job?.name;
  return typeof name === "string" && isTitle(name) ? name : undefined;
}

/** A list of one; newer examples of the experimental dialect have a map, like nextgen. */
function readOneResource(
  place: Place,
  list: Place | undefined,
): ReadonlyMap<string, NamedResource> {
  const resources = new Map<string, NamedResource>();
  if (list === undefined) reportProblem(place, 'needs "resources"');
  else if (isMap(list)) readResources(list, { resources });
  else {
    const [first, second] = itemsOf(list);
    if (isList(list) && first === undefined) reportProblem(list, "is empty");
    if (second !== undefined) reportProblem(second, "this dialect has one resource");
    const resource = first === undefined ? undefined : readResource(first);
    if (resource !== undefined) resources.set(nameFor(resource.request), resource);
  }
  return resources;
}

/** The slot's label is its name for people. */
function nameFor(request: ResourceRequest): string {
  const [label] = slotsOf(request).flatMap((slot) => slot.label ?? []);
  const isName = label !== undefined && label.length <= 64 && /^[\w.-]+$/.test(label);
  return isName ? label : "resources";
}

const slotsOf = (request: ResourceRequest): readonly ResourceRequest[] => [
  ...(request.isSlot ? [request] : []),
  ...request.with.flatMap(slotsOf),
];

interface Around {
  readonly dialect: "flux-v1" | "experimental";
  readonly place: Place;
  readonly resources: ReadonlyMap<string, NamedResource>;
  readonly requires: Map<string, readonly Requirement[]>;
}

function readTask(place: Place, around: Around): DraftTask {
  const isFlux = around.dialect === "flux-v1";
  const fields: ReadonlyMap<string, Place> = fieldsOf(
    place,
    isFlux ? TASK_KEYS : EXPERIMENTAL_TASK_KEYS,
  );
  for (const key of ["slot", "count"]) {
    if (isFlux && isMap(place) && !fields.has(key)) reportProblem(place, `needs "${key}"`);
  }
  const slot = fields.get("slot");
  if (slot !== undefined) checkSlot(slot, around.resources);
  const nameAt = fields.get("name");
  const name = nameAt === undefined ? undefined : nameOf(nameAt);
  return {
    kind: "task",
    place,
    name: name === undefined || nameAt === undefined ? undefined : { place: nameAt, name },
    ...readResourcesOfTask(place, fields.get("resources"), around),
    dependsOn: [],
    attributes: readAttributes(fields.get("attributes")),
    replicas: 1,
    processes: readProcesses(fields.get("count")),
    isLocal: false,
    work: readWork(place, {
      command: fields.get("command"),
      script: undefined,
      scripts: fields.get("scripts"),
      steps: fields.get("transform"),
      stepKey: "step",
    }),
  };
}

function checkSlot(place: Place, resources: ReadonlyMap<string, NamedResource>): void {
  const label = textOf(place);
  const slots = [...resources.values()].flatMap(({ request }) => slotsOf(request));
  const labels = slots.flatMap((slot) => slot.label ?? []);
  if (label === undefined || labels.includes(label)) return;
  reportProblem(
    place,
    `there is no slot with the label ${quote(label)}${suggest(place, label, labels)}`,
  );
}

/** In this dialect, `resources` of a task is a map of subsystems: its requirements. */
function readResourcesOfTask(
  task: Place,
  place: Place | undefined,
  { resources, requires }: Around,
): { readonly asks: Reference | undefined; readonly requires: Reference | undefined } {
  const names = [...resources.keys()];
  if (place !== undefined && isText(place)) {
    return { asks: { place, choice: choiceOf(place) ?? [] }, requires: undefined };
  }
  if (names.length > 1) reportProblem(task, `needs "resources": one of ${names.join(", ")}`);
  const asks = names.length === 0 ? undefined : { place: task, choice: [names] };
  if (place === undefined) return { asks, requires: undefined };
  const set = readRequirements(place);
  if (set.length === 0) return { asks, requires: undefined };
  requires.set("task-requires", set);
  return { asks, requires: { place, choice: [["task-requires"]] } };
}
