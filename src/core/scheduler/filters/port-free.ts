import type { Filter } from "./filter.ts";

/** For tasks that use a port of their node: rejects nodes where another task uses it. */
export const portFree: Filter = {
  name: "port-free",
  now: {
    allows: ({ where: { port } }, { ports }) => port === undefined || !ports.has(port),
    reason: ({ where: { port = 0 } }) => ({ kind: "port-taken", port }),
  },
  nodeKey:
    ({ where: { port } }) =>
    ({ ports }) =>
      port !== undefined && ports.has(port) ? "taken" : "",
};
