import { serviceId } from "../../../core/model/ids.ts";
import type { WorkloadDefinition } from "../../../core/model/job/workload/workload.ts";
import { numberIn } from "../../../core/model/service/service.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import type { RikInstance } from "../controllers/instance.ts";
import { portFor, readStored, toValue } from "../definition.ts";
import { controllersOf, statusText } from "../translate.ts";
import { countOf, mapped, notFound, parseFields, RestRefusal, textOf } from "./exchange.ts";
import { instanceName } from "./names.ts";
import {
  DELETED,
  NO_CONTENT,
  ownerOf,
  type RestCall,
  type RestParts,
  type Route,
  workloadOf,
} from "./route.ts";

/** The user's own, and those of the controller of the same name. */
function* instancesOf({ book }: RestParts, call: RestCall): Generator<RikInstance, void> {
  yield* book.of(ownerOf(call));
  for (const controller of controllersOf(call.principal.name)) yield* book.of(controller);
}

/** Without those whose slots another door has removed. */
async function currentInstances(parts: RestParts, call: RestCall): Promise<RikInstance[]> {
  await parts.book.dropRemoved([...instancesOf(parts, call)]);
  return [...instancesOf(parts, call)];
}

export async function instancesOfWorkload(
  parts: RestParts,
  call: RestCall,
  id: string,
): Promise<RikInstance[]> {
  const all = await currentInstances(parts, call);
  return all.filter(({ workloadId }) => workloadId === id);
}

function findInstance(parts: RestParts, call: RestCall, id: string): RikInstance | undefined {
  const { book } = parts;
  for (const owner of [ownerOf(call), ...controllersOf(call.principal.name)]) {
    const instance = book.find(owner, id);
    if (instance !== undefined) return instance;
  }
  return undefined;
}

/** As rik's controller stores them; rik has no place and no reason. */
export async function showInstances(
  parts: RestParts,
  instances: readonly RikInstance[],
): Promise<(instance: RikInstance) => object> {
  const reasons = await parts.book.pendingReasons(instances);
  return (instance) => showInstance(parts, instance, reasons.get(instance.jobId ?? ""));
}

function showInstance(parts: RestParts, instance: RikInstance, pendingReason = ""): object {
  const { id, workloadId, state } = instance;
  const definition = instance.definition ?? parts.workloadBook.get(workloadId)?.definition;
  const workload = definition === undefined ? undefined : readStored(definition);
  const value = workload && toValue(workload, portShown(parts, instance, workload));
  const isPending = state.status === ResourceStatus.PENDING;
  const reason = isPending && state.reason === "" ? pendingReason : state.reason;
  return {
    workload_id: workloadId,
    namespace: "default",
    id,
    kind: value?.kind ?? "Pod",
    status: statusText(state.status),
    spec: value?.spec ?? { containers: [], function: null },
    ...(state.node === undefined ? {} : { node: state.node }),
    ...(reason === "" ? {} : { reason }),
  };
}

/** The port that its worker chose; of an instance without a worker the one that it gets where that is free. */
function portShown(
  { workers }: RestParts,
  { jobId, state }: RikInstance,
  workload: WorkloadDefinition,
): number | undefined {
  if (workload.function === undefined || jobId === undefined) return undefined;
  const chosen = state.node === undefined ? undefined : workers.at(state.node)?.portOf(+jobId);
  return chosen ?? portFor(workload, +jobId);
}

/** Whether the service itself named the instance, because a user scaled it: its number must be changed there. */
export const isCounted = ({ service, id }: Pick<RikInstance, "service" | "id">): boolean =>
  service !== undefined && numberIn({ service: serviceId(service), name: id }) !== undefined;

export function newNames({ book, random }: RestParts, call: RestCall, total: number): string[] {
  const names = new Set<string>();
  const isTaken = (name: string): boolean => names.has(name) || book.has(ownerOf(call), name);
  while (names.size < total) names.add(instanceName(random, isTaken));
  return [...names];
}

/** Slots of services, and single jobs: those of controllers, and of earlier versions. */
export async function destroy(
  { lifecycle, workloads }: RestParts,
  { principal }: RestCall,
  instances: readonly RikInstance[],
): Promise<void> {
  const single = instances.filter(({ service }) => service === undefined);
  await Promise.all(single.map((one) => lifecycle.destroy(one, principal, DELETED)));
  await workloads.destroy(instances, principal, DELETED);
}

export const listInstances: Route = async (parts, call) => {
  const instances = await currentInstances(parts, call);
  const show = await showInstances(parts, instances);
  const items = mapped(instances, (instance) => ({
    id: instance.id,
    name: instance.id,
    value: show(instance),
  }));
  return { status: 200, items };
};

export const createInstances: Route = async (parts, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf(parts, call, textOf(fields, "workload_id"));
  const replicas = countOf(fields, "replicas", 1);
  const { name } = fields;
  if (name === undefined || name === null) {
    const names = newNames(parts, call, replicas);
    await parts.workloads.add(workload, names, call.principal);
    return { status: 201, json: names };
  }
  const own = textOf(fields, "name");
  if (replicas > 1) throw new RestRefusal(400, "Cannot use name with multiple replicas");
  const known = findInstance(parts, call, own);
  if (known !== undefined) await parts.book.dropRemoved([known]);
  if (findInstance(parts, call, own) !== undefined) throw notFound("Name already used");
  if (isCounted({ service: workload.service, id: own })) {
    const problem = `${own} is a name that the service gives to its instances; choose another`;
    throw new RestRefusal(400, `name: ${problem}`);
  }
  const names = replicas === 0 ? [] : [own];
  await parts.workloads.add(workload, names, call.principal);
  return { status: 201, json: names };
};

export const deleteInstance: Route = async (parts, call) => {
  const id = textOf(parseFields(call.body), "id");
  const instance = findInstance(parts, call, id);
  if (instance === undefined) throw notFound(`Instance id ${id} not found`);
  if (isCounted(instance)) {
    const how = `lower their number: busbar scale ${instance.service} N`;
    throw new RestRefusal(409, `${id} is one of those that its service counts; ${how}`);
  }
  await destroy(parts, call, [instance]);
  return NO_CONTENT;
};
