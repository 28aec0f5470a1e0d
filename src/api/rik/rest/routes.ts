import { randomUUID } from "node:crypto";
import type { RikPrincipal } from "../../../core/access/principal.ts";
import { readWorkload } from "../../../core/model/job/workload/workload.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Random } from "../../../ports/random.ts";
import type { RikCallers, RikRole } from "../callers.ts";
import type { RikInstance, InstanceBook } from "../controllers/instance-book.ts";
import type { InstanceLifecycle } from "../controllers/lifecycle.ts";
import { type DefinitionValue, toValue } from "../definition.ts";
import { ANYBODY, restOf, statusText } from "../translate.ts";
import type { RikWorkers } from "../workers/workers.ts";
import {
  type RestAnswer,
  countOf,
  type RestFields,
  notFound,
  parseFields,
  RestRefusal,
  textOf,
} from "./exchange.ts";
import { instanceName } from "./names.ts";
import type { RestRecords, StoredWorkload } from "./records.ts";

export interface RestParts {
  readonly records: RestRecords;
  readonly book: InstanceBook;
  readonly lifecycle: InstanceLifecycle;
  readonly workers: RikWorkers;
  readonly callers: RikCallers;
  readonly random: Random;
}

/** One request. */
export interface RestCall {
  readonly principal: RikPrincipal;
  /** As it was sent. */
  readonly body: string;
  /** What follows the name of the route. */
  readonly id: string;
}

type Route = (parts: RestParts, call: RestCall) => Promise<RestAnswer>;

const NO_CONTENT: RestAnswer = { status: 204 };
const DELETED = "deleted by a REST user";

const ownerOf = ({ principal }: RestCall): string => restOf(principal.name);

/** One's own, and those of the controller of the same name. */
function* instancesOf({ book }: RestParts, call: RestCall): Generator<RikInstance, void> {
  yield* book.of(ownerOf(call));
  yield* book.of(call.principal.name ?? ANYBODY);
}

function findInstance(parts: RestParts, call: RestCall, id: string): RikInstance | undefined {
  const { book } = parts;
  return book.find(ownerOf(call), id) ?? book.find(call.principal.name ?? ANYBODY, id);
}

function workloadOf({ records }: RestParts, call: RestCall, id: string): StoredWorkload {
  const workload = records.workloads.get(id);
  if (workload === undefined || workload.owner !== ownerOf(call)) {
    throw notFound(`Workload id ${id} not found`);
  }
  return workload;
}

const valueOf = ({ definition }: StoredWorkload): DefinitionValue => {
  const value = toValue(readWorkload(definition));
  return { ...value, replicas: value.replicas ?? 1 };
};

/** As rik's controller keeps it; where it is and why it is so rik does not know. */
function showInstance({ records }: RestParts, instance: RikInstance): object {
  const { id, workloadId, jobId, state } = instance;
  const workload = records.workloads.get(workloadId);
  const value =
    workload &&
    toValue(readWorkload(workload.definition), jobId === undefined ? undefined : +jobId);
  return {
    workload_id: workloadId,
    namespace: "default",
    id,
    kind: value?.kind ?? "Pod",
    status: statusText(state.status),
    spec: value?.spec ?? { containers: [], function: null },
    ...(state.node === undefined ? {} : { node: state.node }),
    ...(state.reason === "" ? {} : { reason: state.reason }),
  };
}

const instancesOfWorkload = (parts: RestParts, call: RestCall, id: string): RikInstance[] =>
  [...instancesOf(parts, call)].filter(({ workloadId }) => workloadId === id);

/** Several at once: each has a job of its own. */
async function create(
  parts: RestParts,
  call: RestCall,
  { id: workloadId, definition }: StoredWorkload,
  names: readonly string[],
): Promise<void> {
  const controller = ownerOf(call);
  const { lifecycle } = parts;
  const one = (id: string): Promise<void> =>
    lifecycle.create({ controller, workloadId, id, definition, home: undefined }, call.principal);
  await Promise.all(names.map(one));
}

function newNames({ book, random }: RestParts, call: RestCall, total: number): string[] {
  const names = new Set<string>();
  const isTaken = (name: string): boolean => names.has(name) || book.has(ownerOf(call), name);
  while (names.size < total) names.add(instanceName(random, isTaken));
  return [...names];
}

const listWorkloads: Route = async ({ records }, call) => {
  const own = [...records.workloads.values()].filter(({ owner }) => owner === ownerOf(call));
  const json = own.map((workload) => ({
    id: workload.id,
    name: workload.name,
    value: valueOf(workload),
  }));
  return { status: 200, json };
};

const createWorkload: Route = async ({ records }, call) => {
  const fields = parseFields(call.body);
  const { kind, name } = readWorkload(call.body);
  const owner = ownerOf(call);
  for (const other of records.workloads.values()) {
    const isSame = other.owner === owner && other.kind === kind && other.name === name;
    if (isSame) throw notFound("Name already used");
  }
  const id = randomUUID();
  await records.putWorkload({ id, owner, kind, name, definition: JSON.stringify(fields) });
  return { status: 200, json: { id } };
};

/** With all of its instances. */
const deleteWorkload: Route = async (parts, call) => {
  const id = textOf(parseFields(call.body), "id");
  const workload = workloadOf(parts, call, id);
  const { lifecycle, records } = parts;
  const instances = instancesOfWorkload(parts, call, workload.id);
  await Promise.all(
    instances.map((instance) => lifecycle.destroy(instance, call.principal, DELETED)),
  );
  await records.removeWorkload(workload.id);
  return NO_CONTENT;
};

const workloadInstances: Route = async (parts, call) => {
  const instances = instancesOfWorkload(parts, call, call.id);
  if (instances.length === 0) return NO_CONTENT;
  const json = { instances: instances.map((instance) => showInstance(parts, instance)) };
  return { status: 200, json };
};

/** As many as are asked for: others are made, or those that came last are deleted. */
const scaleWorkload: Route = async (parts, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf(parts, call, textOf(fields, "id"));
  if (fields["replicas"] === undefined) throw new RestRefusal(400, "missing field `replicas`");
  const wanted = countOf(fields, "replicas", 0);
  const instances = instancesOfWorkload(parts, call, workload.id);
  const names = newNames(parts, call, Math.max(0, wanted - instances.length));
  await create(parts, call, workload, names);
  const surplus = instances.slice(Math.min(instances.length, wanted));
  await Promise.all(
    surplus.map((instance) => parts.lifecycle.destroy(instance, call.principal, DELETED)),
  );
  return { status: 200, json: { created: names, deleted: surplus.map(({ id }) => id) } };
};

const listInstances: Route = async (parts, call) => ({
  status: 200,
  json: [...instancesOf(parts, call)].map((instance) => ({
    id: instance.id,
    name: instance.id,
    value: showInstance(parts, instance),
  })),
});

const createInstances: Route = async (parts, call) => {
  const fields = parseFields(call.body);
  const workload = workloadOf(parts, call, textOf(fields, "workload_id"));
  const replicas = countOf(fields, "replicas", 1);
  const { name } = fields;
  if (name === undefined || name === null) {
    const names = newNames(parts, call, replicas);
    await create(parts, call, workload, names);
    return { status: 201, json: names };
  }
  const own = textOf(fields, "name");
  if (replicas > 1) throw new RestRefusal(400, "Cannot use name with multiple replicas");
  if (findInstance(parts, call, own) !== undefined) throw notFound("Name already used");
  const names = replicas === 0 ? [] : [own];
  await create(parts, call, workload, names);
  return { status: 201, json: names };
};

const deleteInstance: Route = async (parts, call) => {
  const id = textOf(parseFields(call.body), "id");
  const instance = findInstance(parts, call, id);
  if (instance === undefined) throw notFound(`RikInstance id ${id} not found`);
  await parts.lifecycle.destroy(instance, call.principal, DELETED);
  return NO_CONTENT;
};

const listTenants: Route = async ({ records }, call) => {
  const own = [...records.tenants.values()].filter(({ owner }) => owner === ownerOf(call));
  const json = own.map(({ id, name, value }) => ({
    id,
    name: name.slice(name.lastIndexOf("/") + 1),
    value: JSON.parse(value) as unknown,
  }));
  return { status: 200, json };
};

const createTenant: Route = async ({ records }, call) => {
  const fields: RestFields = parseFields(call.body);
  const sent = {
    id: textOf(fields, "id"),
    name: textOf(fields, "name"),
    value: textOf(fields, "value"),
  };
  try {
    JSON.parse(sent.value);
  } catch {
    throw new RestRefusal(400, "value: must be a text that is JSON");
  }
  await records.putTenant({ ...sent, id: randomUUID(), owner: ownerOf(call) });
  return { status: 200, json: sent };
};

const deleteTenant: Route = async ({ records }, call) => {
  const id = textOf(parseFields(call.body), "id");
  if (records.tenants.get(id)?.owner !== ownerOf(call)) throw notFound(`Tenant id ${id} not found`);
  await records.removeTenant(id);
  return NO_CONTENT;
};

/** What workers told of their machines, the latest last. */
const listWorkers: Route = async ({ workers }) => ({
  status: 200,
  json: [...workers.all].map(({ hostname, node, peer, told, instances, heardMs, history }) => ({
    id: hostname,
    name: hostname,
    value: {
      node,
      address: peer,
      status: statusText(told.status),
      instances,
      last_heartbeat_ms: heardMs,
      history: history.all,
    },
  })),
});

/** For a worker or a controller that is not to know the secret itself. */
const createToken: Route = async ({ callers }, call) => {
  const fields = parseFields(call.body);
  const [role, name] = [textOf(fields, "role"), textOf(fields, "name")];
  if (role !== "worker" && role !== "controller") {
    throw new RestRefusal(400, "role: must be worker or controller");
  }
  try {
    return { status: 200, json: { name, token: callers.tokenFor(role satisfies RikRole, name) } };
  } catch (error) {
    throw new RestRefusal(409, AppError.from(error, "make a token").message);
  }
};

export const ROUTES: Readonly<Record<string, Route>> = {
  "GET workloads.list": listWorkloads,
  "GET workloads.instances": workloadInstances,
  "POST workloads.create": createWorkload,
  "POST workloads.delete": deleteWorkload,
  "POST workloads.scale": scaleWorkload,
  "GET instances.list": listInstances,
  "POST instances.create": createInstances,
  "POST instances.delete": deleteInstance,
  "GET tenants.list": listTenants,
  "POST tenants.create": createTenant,
  "POST tenants.delete": deleteTenant,
  "GET workers.list": listWorkers,
  "POST tokens.create": createToken,
};
