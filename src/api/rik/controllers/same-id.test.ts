import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { likeRiklet, POD, type RikBed, until, useRikBeds } from "../testing/rik-bed.ts";

const open = useRikBeds();
const { CREATING, RUNNING, DESTROYING, TERMINATED, FAILED } = ResourceStatus;

/** Like riklet, but it never confirms that it destroyed an instance. */
const silentAtEnds = (order: Parameters<typeof likeRiklet>[0]): ResourceStatus[] =>
  order.action === 0 ? likeRiklet(order) : [];

const jobStates = async ({ plane }: RikBed, name: string): Promise<string[]> =>
  (await plane.operations.listJobs({ name }, {})).jobs.map(({ state }) => state);

test("a request without an id is answered OK and reported to no controller: rik's would take it for another instance", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("");
  await controller.schedule("", "{");
  await controller.destroy("");
  await controller.schedule("after");
  await controller.until("after", RUNNING);
  expect(controller.of("")).toEqual([]);
  await bed.restart();
  await bed.readyWorker("node-a");
  const next = await bed.controller();
  await next.until("after", RUNNING);
  expect(next.of("")).toEqual([]);
});

test("an id that is created again while its instance is being destroyed is a new instance, and does not end with the old one", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a", silentAtEnds);
  const controller = await bed.controller();
  await controller.schedule("a");
  await controller.until("a", RUNNING);
  await controller.destroy("a");
  await controller.until("a", DESTROYING);
  await Promise.all([controller.schedule("a"), controller.schedule("a")]); // one, whoever repeats it
  await controller.until("a", RUNNING);
  await worker.tell("a", TERMINATED);
  await until(async () => expect(await jobStates(bed, "a")).toEqual(["running", "cancelled"]));
  expect(controller.of("a").filter((status) => status === TERMINATED)).toEqual([]);
  await bed.restart();
  await bed.readyWorker("node-a");
  const next = await bed.controller();
  await next.until("a", RUNNING);
  await next.destroy("a");
  await next.until("a", TERMINATED);
  await bed.restart();
  const last = await bed.controller();
  await bed.readyWorker("node-a");
  await last.schedule("b");
  await last.until("b", RUNNING);
  expect(last.of("a")).toEqual([]); // neither of the two
});

test("an id whose end no controller received can be created again", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const script = bed.caller(); // does not subscribe
  await script.schedule("a");
  await until(async () => expect(await jobStates(bed, "a")).toEqual(["running"]));
  await script.destroy("a");
  await until(async () => expect(await jobStates(bed, "a")).toEqual(["cancelled"]));
  await script.schedule("a");
  await until(async () => expect(await jobStates(bed, "a")).toEqual(["running", "cancelled"]));
  const controller = await bed.controller();
  await controller.until("a", RUNNING);
  expect(controller.of("a")).toEqual([RUNNING]);
});

test("an id that is created for another workload replaces its instance: the controller lost its database", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const before = await bed.controller();
  await before.schedule("a", POD, "old");
  await before.schedule("f", "{", "old");
  await before.until("a", RUNNING);
  await before.until("f", FAILED);
  before.close();
  await until(() => expect(bed.door.controllers.count).toBe(0));
  const controller = await bed.controller();
  for (const id of ["a", "f"]) {
    await controller.schedule(id, POD.replace("alpine:latest", "alpine:3"), "new");
    await controller.until(id, RUNNING);
    expect(controller.metricsOf(id)).toContain('"workload_id": "new"');
    expect(controller.of(id).slice(1)).toEqual([CREATING, RUNNING]);
  }
  await until(async () => expect(await jobStates(bed, "a")).toEqual(["running", "cancelled"]));
  const images = worker.orders.map(({ definition }) => /alpine:\w+/.exec(definition)?.[0]);
  expect(images.filter((image) => image === "alpine:3").length).toBe(2);
  await controller.schedule("a", POD, "new"); // the same again is the same
  expect(await jobStates(bed, "a")).toEqual(["running", "cancelled"]);
});

test("a controller that connects to a server without replay receives nothing of earlier instances, until it asks for one", async () => {
  const bed = await open({ replays: false });
  const worker = await bed.readyWorker("node-a");
  const before = await bed.controller();
  for (const id of ["a", "b"]) await before.schedule(id);
  await before.until("b", RUNNING);
  before.close();
  await until(() => expect(bed.door.controllers.count).toBe(0));
  const controller = await bed.controller();
  worker.close();
  await until(() => expect(bed.door.workers.count).toBe(0));
  const next = await bed.readyWorker("node-a"); // both are placed again
  await until(() => expect(next.orders.length).toBe(2));
  await controller.schedule("new");
  await controller.until("new", RUNNING);
  expect([controller.of("a"), controller.of("b")]).toEqual([[], []]);
  await controller.destroy("a");
  await controller.until("a", TERMINATED);
  expect(controller.of("b")).toEqual([]);
});
