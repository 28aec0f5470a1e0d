import * as fc from "fast-check";
import { aSpec } from "../../../../testing/builders.ts";
import type { World } from "../../../../testing/world.ts";
import { serviceId } from "../../../model/ids.ts";

const SERVICES = ["s", "t"];
const service = fc.constantFrom(...SERVICES);
/** Some are names that the core could choose itself. */
const names = fc.uniqueArray(fc.constantFrom("x", "y", "s-1", "s-2"), {
  minLength: 1,
  maxLength: 2,
});

/** Commands on services, in any order: some are rejected. */
export const serviceStep = fc.record({
  do: fc.constant("service" as const),
  service,
  what: fc.oneof(
    fc.record({
      kind: fc.constant("put" as const),
      version: fc.constantFrom("1", "2", "3"),
      replicas: fc.option(fc.nat(3), { nil: undefined }),
      restart: fc.constantFrom("always", "on-failure", "never"),
      maxUnavailable: fc.constantFrom(1, 2),
    }),
    fc.record({ kind: fc.constant("scale" as const), replicas: fc.nat(4) }),
    fc.record({ kind: fc.constant("rollback" as const), generation: fc.option(fc.nat(4)) }),
    fc.record({ kind: fc.constant("add" as const), names }),
    fc.record({ kind: fc.constant("remove-some" as const), names }),
    fc.record({ kind: fc.constant("remove" as const) }),
  ),
});
export type ServiceStep = typeof serviceStep extends fc.Arbitrary<infer T> ? T : never;

export function runServiceStep(world: World, { service: name, what }: ServiceStep): void {
  const id = serviceId(name);
  const { nowMs } = world;
  switch (what.kind) {
    case "put": {
      const { version, replicas, restart, maxUnavailable } = what;
      const spec = aSpec({ command: ["serve", version], service: { restart } });
      const rollout = { maxUnavailable, minReadyMs: 2_000, failuresMax: 2 };
      world.do({ kind: "put-service", id, spec, replicas, rollout, nowMs });
      return;
    }
    case "scale":
      world.do({ kind: "scale-service", id, replicas: what.replicas });
      return;
    case "rollback":
      world.do({ kind: "rollback-service", id, generation: what.generation ?? undefined, nowMs });
      return;
    case "add":
      world.do({ kind: "add-instances", service: id, names: what.names, nowMs });
      return;
    case "remove-some":
      world.do({ kind: "remove-instances", service: id, names: what.names, reason: "", nowMs });
      return;
    case "remove":
      world.do({ kind: "remove-service", id, reason: "", nowMs });
  }
}

/** Removes every service. */
export function removeServices(world: World): void {
  for (const { row } of world.state.services.inOrder) {
    const { nowMs } = world;
    world.do({ kind: "remove-service", id: row.id, reason: "", nowMs });
  }
}
