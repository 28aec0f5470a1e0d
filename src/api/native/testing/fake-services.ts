import { AppError } from "../../../lib/errors.ts";
import type { ServiceOperations } from "../../../server/operations/audiences/service-operations.ts";
import type { InstanceView, ServiceView } from "../../../server/services/service-views.ts";
import { aJob } from "./view-builders.ts";

export const aService = (over: Partial<ServiceView> = {}): ServiceView => ({
  name: "web",
  template: aJob().spec,
  replicas: 3,
  generation: 2,
  rollout: { maxUnavailable: 1, minReadyMs: 5_000, failuresMax: 3 },
  state: "rolling",
  former: [1],
  createdAtMs: 5,
  changedBy: "ada",
  instances: 3,
  running: 2,
  updated: 1,
  ended: 0,
  revision: 7,
  ...over,
});

export const anInstance = (over: Partial<InstanceView> = {}): InstanceView => ({
  service: "web",
  name: "web-1",
  jobId: "1",
  state: "waiting",
  generation: 1,
  wantedGeneration: 2,
  named: false,
  removing: false,
  node: "n1",
  restarts: 4,
  reason: "restarts: exited with code 1, 4th time",
  ...over,
});

/** One service that accepts every request. */
export function fakeServices(): ServiceOperations {
  const services = new Map<string, ServiceView>([["web", aService()]]);
  const find = (name: string): ServiceView => {
    const found = services.get(name);
    if (found !== undefined) return found;
    throw new AppError("not_found", `there is no service ${name}`, { field: "service" });
  };
  const put = (service: ServiceView): ServiceView => {
    services.set(service.name, service);
    return service;
  };
  const named = (names: readonly string[]) => ({
    instances: names.map((name) => anInstance({ name, named: true })),
    revision: 7,
  });
  return {
    listServices: async () => ({ services: [...services.values()], revision: 7 }),
    getService: async (name) => find(name),
    applyService: async ({ name, replicas = 0 }) =>
      put(aService({ ...services.get(name), name, replicas })),
    scaleService: async (name, replicas) => put({ ...find(name), replicas }),
    rollbackService: async (name, { generation = 1 } = {}) => put({ ...find(name), generation }),
    removeService: async (name, reason) => put({ ...find(name), state: "removing", reason }),
    listInstances: async (name) => ({ ...named([`${find(name).name}-1`]), nextPageToken: "more" }),
    getInstance: async (service, name) => anInstance({ service: find(service).name, name }),
    addInstances: async (_, names) => named(names),
    removeInstances: async (_, names) => named(names),
  };
}
