import { jobId, serviceId } from "../../src/core/model/ids.ts";
import { describeRestart } from "../../src/core/model/service/describe-restart.ts";
import { aSpec } from "../../src/testing/builders.ts";
import type { World } from "../../src/testing/world.ts";

export type Options = Readonly<Record<string, string>>;
export type Verbs = Readonly<
  Record<string, (world: World, names: readonly string[], options: Options) => string[] | undefined>
>;

/** The verbs on services in transcripts. */
export const serviceVerbs: Verbs = {
  /** Maintains instances of a template, whose only argument is its version. */
  service(world, [name = ""], options) {
    const { version = "1", replicas, restart = "always", unavailable, ready, failures } = options;
    const template = aSpec({ command: ["serve", version], service: { restart } });
    const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
    world.do({
      kind: "put-service",
      id: serviceId(name),
      spec: version === "same" ? undefined : template,
      replicas: number(replicas),
      rollout: {
        maxUnavailable: number(unavailable),
        minReadyMs: number(ready),
        failuresMax: number(failures),
      },
      nowMs: world.nowMs,
    });
    return undefined;
  },
  scale(world, [name = "", replicas = ""]) {
    world.do({ kind: "scale-service", id: serviceId(name), replicas: Number(replicas) });
    return undefined;
  },
  rollback(world, [name = "", generation]) {
    const { nowMs } = world;
    const to = generation === undefined ? {} : { generation: Number(generation) };
    world.do({ kind: "rollback-service", id: serviceId(name), ...to, nowMs });
    return undefined;
  },
  "remove-service"(world, [name = ""]) {
    const { nowMs } = world;
    world.do({ kind: "remove-service", id: serviceId(name), reason: "", nowMs });
    return undefined;
  },
  instance(world, [name = "", ...names]) {
    const { nowMs } = world;
    const service = serviceId(name);
    const { instances } = world.do({ kind: "add-instances", service, names, nowMs });
    return instances.filter(({ existed }) => existed).map((one) => `${one.name} existed`);
  },
  "remove-instance"(world, [name = "", ...names]) {
    const { nowMs } = world;
    const service = serviceId(name);
    world.do({ kind: "remove-instances", service, names, reason: "", nowMs });
    return undefined;
  },
  /** The text that a view shows for a task of a service. */
  restarts(world, [id = ""]) {
    const task = world.state.task({ jobId: jobId(Number(id)), index: 0 });
    return [(task && describeRestart(task, world.nowMs)) ?? "does not wait for a restart"];
  },
};
