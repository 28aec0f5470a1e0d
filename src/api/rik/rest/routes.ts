import { randomUUID } from "node:crypto";
import { parseBoundedJson } from "../../../lib/bytes/json-size.ts";
import { limits } from "../../../limits.ts";
import type { RikRole } from "../callers.ts";
import { statusText } from "../translate.ts";
import { mapped, notFound, parseFields, type RestFields, RestRefusal, textOf } from "./exchange.ts";
import { createInstances, deleteInstance, listInstances } from "./instance-routes.ts";
import { NO_CONTENT, ownerOf, type Route } from "./route.ts";
import {
  createWorkload,
  deleteWorkload,
  listWorkloads,
  rollbackWorkload,
  scaleWorkload,
  updateWorkload,
  workloadInstances,
  workloadStatus,
} from "./workload-routes.ts";

const listTenants: Route = async ({ records }, call) => {
  const own = [...records.tenants.values()].filter(({ owner }) => owner === ownerOf(call));
  const items = mapped(own, ({ id, name, value }) => ({
    id,
    name: name.slice(name.lastIndexOf("/") + 1),
    value: JSON.parse(value) as unknown,
  }));
  return { status: 200, items };
};

const createTenant: Route = async ({ records }, call) => {
  const fields: RestFields = parseFields(call.body);
  const sent = {
    id: textOf(fields, "id"),
    name: textOf(fields, "name"),
    value: textOf(fields, "value"),
  };
  try {
    parseBoundedJson(sent.value, limits);
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

/** The facts that workers reported about their machines, the latest last. */
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

/** For a worker or a controller that must not know the secret itself. */
const createToken: Route = async ({ callers }, call) => {
  const fields = parseFields(call.body);
  const [role, name] = [textOf(fields, "role"), textOf(fields, "name")];
  if (role !== "worker" && role !== "controller") {
    throw new RestRefusal(400, "role: must be worker or controller");
  }
  if (callers.areAsked && !callers.hasSecret(call.principal)) {
    throw new RestRefusal(403, "tokens are made with the secret, and not with a token");
  }
  return { status: 200, json: { name, token: callers.tokenFor(role satisfies RikRole, name) } };
};

export const ROUTES: Readonly<Record<string, Route>> = {
  "GET workloads.list": listWorkloads,
  "GET workloads.instances": workloadInstances,
  "POST workloads.create": createWorkload,
  "POST workloads.delete": deleteWorkload,
  "POST workloads.scale": scaleWorkload,
  "POST workloads.update": updateWorkload,
  "POST workloads.rollback": rollbackWorkload,
  "GET workloads.status": workloadStatus,
  "GET instances.list": listInstances,
  "POST instances.create": createInstances,
  "POST instances.delete": deleteInstance,
  "GET tenants.list": listTenants,
  "POST tenants.create": createTenant,
  "POST tenants.delete": deleteTenant,
  "GET workers.list": listWorkers,
  "POST tokens.create": createToken,
};
