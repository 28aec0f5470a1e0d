import { stateOf } from "../../client/state.ts";
import type { Handlers } from "../../client/testing/serve.ts";

const aService = (name: string, replicas = 3) => ({
  name,
  template: { name, script: "as it was", service: { restart: "always" } },
  replicas,
  generation: 2,
  state: "rolling",
  instances: replicas,
  running: 2,
  updated: 1,
  ended: 0,
  former: [1],
  createdAtMs: 1_000n,
  changedBy: "ada",
});

const anInstance = (service: string, name: string) => ({
  service,
  name,
  jobId: "17",
  state: stateOf("waiting"),
  generation: 1,
  wantedGeneration: 2,
  restarts: 4,
  reason: "restarts: exited with code 1, 4th time",
});

/** One service, and the requests to it. */
export function fakeServices(): Handlers {
  return {
    listServices: () => ({ services: [aService("web")] }),
    getService: ({ name }) => aService(name),
    applyService: ({ name, template, replicas }) => ({
      ...aService(name, replicas),
      ...(template && { template }),
    }),
    scaleService: ({ name, replicas }) => aService(name, replicas),
    rollbackService: ({ name, generation }) => ({ ...aService(name), generation: generation ?? 1 }),
    removeService: ({ name, reason }) => ({ ...aService(name), state: "removing", reason }),
    listInstances: ({ service }) => ({ instances: [anInstance(service, `${service}-1`)] }),
    addInstances: ({ service, names }) => ({
      instances: names.map((name: string) => anInstance(service, name)),
    }),
    removeInstances: () => ({ instances: [] }),
  };
}
