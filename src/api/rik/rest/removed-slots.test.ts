import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { until, useRikBeds } from "../testing/rik-bed.ts";
import { type Ask, instances, useRikRest, workload } from "../testing/rik-rest.ts";

const open = useRikBeds();
const serve = useRikRest();
const { CREATING, FAILED } = ResourceStatus;

const create = (ask: Ask, id: string, name: string) =>
  ask("POST", "instances.create", { workload_id: id, name });

test("a failed instance that was removed with `busbar services remove` is not listed, and its name is free", async () => {
  const bed = await open();
  const ask = await serve(bed);
  await bed.readyWorker("node-a", () => [CREATING, FAILED]);
  const id = await workload(ask);
  for (const name of ["a", "b"]) await create(ask, id, name);
  const states = async () => (await instances(ask)).map(({ value }) => value.status);
  await until(async () => expect(await states()).toEqual(["Failed", "Failed"]));
  const { services } = await bed.plane.operations.listServices({ pageSize: 1 });
  await bed.plane.operations.removeInstances(services[0]?.name ?? "", ["a", "b"], "");
  expect((await create(ask, id, "b")).status).toBe(201);
  expect((await instances(ask)).map((one) => one.id)).toEqual(["b"]);
  expect((await ask("GET", `workloads.instances/${id}`)).text).not.toContain('"a"');
});

test("an instance that fails while a REST user deletes it is not listed", async () => {
  const bed = await open();
  const ask = await serve(bed);
  const worker = await bed.readyWorker("node-a", () => []);
  const id = await workload(ask);
  await create(ask, id, "a");
  await until(() => expect(worker.orders.length).toBe(1));
  bed.events.hold();
  await worker.tell("a", FAILED);
  const jobState = async () => (await bed.plane.operations.getJob("1")).state;
  await until(async () => expect(await jobState()).toBe("failed"));
  expect((await ask("POST", "instances.delete", { id: "a" })).status).toBe(204);
  bed.events.release();
  await until(async () => expect(await instances(ask)).toEqual([]));
});
