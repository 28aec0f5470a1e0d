import { readWorkload } from "../../../core/model/job/workload/workload.ts";
import type { ServiceView } from "../../../server/services/service-views.ts";
import { type DefinitionValue, toValue } from "../definition.ts";
import type { RikInstance } from "../controllers/instance.ts";
import type { RikWorkload } from "../workloads/workload-book.ts";
import {
  asFields,
  countOf,
  mapped,
  notFound,
  optionalCount,
  parseFields,
  type RestFields,
  RestRefusal,
  textOf,
} from "./exchange.ts";
import {
  destroy,
  instancesOfWorkload,
  isCounted,
  newNames,
  showInstances,
} from "./instance-routes.ts";
import { DELETED, NO_CONTENT, ownerOf, type Route, workloadOf } from "./route.ts";

/** With requested amounts and restart policy, which workers do not get: a user changes the value and sends it back. */
function valueOf({ definition }: RikWorkload): DefinitionValue {
  const value = toValue(readWorkload(definition));
  const { spec: given } = JSON.parse(definition) as GivenDefinition;
  const containers = value.spec.containers.map((container, at) => ({
    ...container,
    ...resourcesOf(given.containers?.[at]),
  }));
  const { restartPolicy } = given;
  const restart = restartPolicy === undefined ? {} : { restartPolicy };
  const spec = { ...value.spec, containers, ...resourcesOf(given), ...restart };
  return { ...value, spec, replicas: value.replicas ?? 1 };
}

interface WithResources {
  readonly resources?: unknown;
}

/** The parts of a definition, which is valid, that no worker of rik reads. */
interface GivenDefinition {
  readonly spec: WithResources & {
    readonly containers?: readonly WithResources[] | null;
    readonly restartPolicy?: unknown;
  };
}

const resourcesOf = ({ resources }: WithResources = {}): WithResources =>
  resources === undefined ? {} : { resources };

export const listWorkloads: Route = async ({ workloadBook }, call) => {
  const items = mapped(workloadBook.of(ownerOf(call)), (workload) => ({
    id: workload.id,
    name: workload.name,
    value: valueOf(workload),
  }));
  return { status: 200, items };
};

export const createWorkload: Route = async ({ workloads }, call) => {
  const fields = parseFields(call.body);
  const id = await workloads.create(ownerOf(call), JSON.stringify(fields), call.principal);
  if (id === undefined) throw notFound("Name already used");
  return { status: 200, json: { id } };
};

/** With all of its instances. */
export const deleteWorkload: Route = async (parts, call) => {
  const id = textOf(parseFields(call.body), "id");
  const workload = workloadOf(parts, call, id);
  const instances = await instancesOfWorkload(parts, call, workload.id);
  await parts.workloads.remove(workload, call.principal, DELETED);
  await destroy(
    parts,
    call,
    instances.filter(({ service }) => service === undefined),
  );
  return NO_CONTENT;
};

export const workloadInstances: Route = async (parts, call) => {
  const instances = await instancesOfWorkload(parts, call, call.id);
  if (instances.length === 0) return NO_CONTENT;
  const items = mapped(instances, await showInstances(parts, instances));
  return { status: 200, items, field: "instances" };
};

/** Scales to the requested number: creates instances, or deletes the newest ones. */
export const scaleWorkload: Route = async (parts, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf(parts, call, textOf(fields, "id"));
  const wanted = countOf(fields, "replicas", undefined);
  if (wanted === undefined) throw new RestRefusal(400, "missing field `replicas`");
  const present = await instancesOfWorkload(parts, call, workload.id);
  const all = present.filter(({ isGoing }) => !isGoing);
  const counted = all.filter(isCounted);
  if (counted.length > wanted) {
    const how = `lower it: busbar scale ${workload.service} ${wanted}`;
    throw new RestRefusal(409, `its service counts ${counted.length} instances; ${how}`);
  }
  const instances = all.filter((one) => !isCounted(one)).sort((a, b) => ageOrder(a) - ageOrder(b));
  const left = wanted - counted.length;
  const names = newNames(parts, call, Math.max(0, left - instances.length));
  await parts.workloads.add(workload, names, call.principal);
  const surplus = instances.slice(Math.min(instances.length, left));
  await destroy(parts, call, surplus);
  return { status: 200, json: { created: names, deleted: surplus.map(({ id }) => id) } };
};

/** The oldest first: numbers of jobs grow. The book is in the order of names after a restart. */
const ageOrder = ({ jobId }: RikInstance): number =>
  jobId === undefined ? Number.MAX_SAFE_INTEGER : +jobId;

/** Rolls out a definition; `workloads.status` shows the progress. */
export const updateWorkload: Route = async ({ workloads, ...parts }, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf({ workloads, ...parts }, call, textOf(fields, "id"));
  const rollout = {
    maxUnavailable: optionalCount(fields, "max_unavailable"),
    minReadyMs: optionalCount(fields, "min_ready_ms"),
    failuresMax: optionalCount(fields, "failures_max"),
  };
  const update = { definition: definitionIn(fields), rollout };
  const view = await workloads.update(workload, update, call.principal);
  return { status: 200, json: showStatus(workload, view) };
};

/** Rolls back to the previous definition, or to a remembered one. */
export const rollbackWorkload: Route = async (parts, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf(parts, call, textOf(fields, "id"));
  const generation = optionalCount(fields, "generation");
  const view = await parts.workloads.rollback(workload, generation, call.principal);
  return { status: 200, json: showStatus(workload, view) };
};

export const workloadStatus: Route = async (parts, call) => {
  if (call.id === "") throw new RestRefusal(400, "the id is missing; write workloads.status/ID");
  const workload = workloadOf(parts, call, call.id);
  const view = await parts.workloads.status(workload, call.principal);
  return { status: 200, json: showStatus(workload, view) };
};

/** As `workloads.list` shows it, or as a text. */
function definitionIn(fields: RestFields): string {
  const { value, definition } = fields;
  if (value !== undefined && definition !== undefined) {
    throw new RestRefusal(400, "give either `value` or `definition`, not both");
  }
  const [field, given] = definition === undefined ? ["value", value] : ["definition", definition];
  if (given === undefined) throw new RestRefusal(400, "missing field `value`");
  const read = typeof given === "string" ? parseFields(given, field) : asFields(given, field);
  return JSON.stringify(read);
}

const showStatus = ({ id, name }: RikWorkload, view: ServiceView): object => ({
  id,
  name,
  service: view.name,
  generation: view.generation,
  state: view.state,
  ...(view.reason === undefined ? {} : { reason: view.reason }),
  instances: view.instances,
  running: view.running,
  updated: view.updated,
  former: view.former,
});
