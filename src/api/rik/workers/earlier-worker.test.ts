import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { metricsOf, until, useRikBeds } from "../testing/rik-bed.ts";

const { RUNNING, FAILED, TERMINATED } = ResourceStatus;
const open = useRikBeds();

test("late reports of a given-up worker do not count for the one that has its host name now", async () => {
  const bed = await open();
  const earlier = await bed.readyWorker("node-a"); // freezes, and executes its last orders when it wakes up
  for (let at = 0; at < 11; at++) bed.clock.advance(5_000);
  await until(() => expect(earlier.code).toBeDefined());
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  for (const id of ["a", "b"]) {
    await controller.schedule(id);
    await controller.until(id, RUNNING);
  }
  await earlier.tell("a", TERMINATED);
  await earlier.tell("b", FAILED);
  await earlier.beat(metricsOf(64), FAILED);
  await controller.schedule("c");
  await controller.until("c", RUNNING);
  expect([controller.of("a").at(-1), controller.of("b").at(-1)]).toEqual([RUNNING, RUNNING]);
  expect(worker.orders).toHaveLength(3);
  expect((await bed.plane.operations.getNode("rik-node-a")).capacity).toMatchObject({ cpu: 4 });
});

test("reports of a worker that was refused because of its host name do not count for the other one", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("a");
  await controller.until("a", RUNNING);
  const refused = await bed.worker("node-a");
  await until(() => expect(refused.code).toBeDefined());
  await refused.beat(metricsOf(64));
  await refused.tell("a", FAILED);
  await controller.schedule("b");
  await controller.until("b", RUNNING);
  expect(controller.of("a").at(-1)).toBe(RUNNING);
  expect((await bed.plane.operations.getNode("rik-node-a")).capacity).toMatchObject({ cpu: 4 });
});
