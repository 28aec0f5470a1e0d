import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { POD, until, useRikBeds } from "../testing/rik-bed.ts";
import { instances, json, useRikRest, type Ask } from "../testing/rik-rest.ts";

const { CREATING, RUNNING, FAILED, TERMINATED, DESTROYING } = ResourceStatus;
const open = useRikBeds();
const serve = useRikRest();

const withPolicy = (restartPolicy: string): string => {
  const definition = JSON.parse(POD) as { readonly spec: object };
  return JSON.stringify({ ...definition, spec: { ...definition.spec, restartPolicy } });
};

/** Without repetitions: of several changes that come together a controller receives the last. */
const changes = (statuses: readonly ResourceStatus[]): ResourceStatus[] =>
  statuses.filter((status, at) => status !== statuses[at - 1]);

test("OnFailure: a failed instance is created again after a back-off, and one that ends has ended", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("a", withPolicy("OnFailure"));
  await controller.until("a", RUNNING);
  await worker.tell("a", FAILED);
  await controller.until("a", FAILED);
  expect(controller.metricsOf("a")).toContain("its worker reports that it failed");
  bed.clock.advance(999);
  await controller.schedule("b");
  await controller.until("b", RUNNING);
  bed.clock.advance(1);
  await controller.until("a", RUNNING);
  expect(worker.orders.map(({ instanceId }) => instanceId)).toEqual(["a", "b", "a"]);
  await worker.tell("a", TERMINATED);
  await controller.until("a", TERMINATED);
  const attempt = [CREATING, RUNNING];
  expect(changes(controller.of("a"))).toEqual([...attempt, FAILED, ...attempt, TERMINATED]);
});

test("Always: an instance that ends is created again, and has one end: when it is destroyed", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("a", withPolicy("Always"));
  await controller.until("a", RUNNING);
  await worker.tell("a", TERMINATED);
  await controller.until("a", FAILED);
  bed.clock.advance(1_000);
  await controller.until("a", RUNNING);
  expect(worker.orders).toHaveLength(2);
  expect(controller.of("a")).not.toContain(TERMINATED);
  await controller.destroy("a");
  await controller.until("a", TERMINATED);
  expect(changes(controller.of("a")).slice(-3)).toEqual([RUNNING, DESTROYING, TERMINATED]);
});

test("the policy of a REST user's workload changes by an update, and the list shows it", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const worker = await bed.readyWorker("node-a");
  const { id } = json(await ask("POST", "workloads.create", POD)) as { readonly id: string };
  await ask("POST", "instances.create", { workload_id: id, name: "a" });
  await until(async () => expect(await statusOf(ask)).toBe("Running"));
  await worker.tell("a", FAILED);
  await until(async () => expect(await statusOf(ask)).toBe("Failed"));
  await ask("POST", "workloads.update", { id, definition: withPolicy("Always") });
  await until(async () => expect(await statusOf(ask)).toBe("Running"));
  const before = worker.orders.length;
  await worker.tell("a", FAILED);
  await until(async () => expect(await statusOf(ask)).toBe("Failed"));
  bed.clock.advance(1_000);
  await until(() => expect(worker.orders.length).toBeGreaterThan(before));
  const [listed] = json(await ask("GET", "workloads.list")) as [
    { readonly value: { readonly spec: object } },
  ];
  expect(listed.value.spec).toMatchObject({ restartPolicy: "Always" });
  const wrong = await ask("POST", "workloads.create", withPolicy("Sometimes"));
  expect([wrong.status, wrong.text]).toEqual([
    400,
    expect.stringContaining("spec.restartPolicy: must be one of Always, OnFailure, Never"),
  ]);
});

const statusOf = async (ask: Ask): Promise<string | undefined> =>
  (await instances(ask))[0]?.value.status;
