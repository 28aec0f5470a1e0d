import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { type TestController, until, useRikBeds } from "../testing/rik-bed.ts";

const open = useRikBeds();
const { RUNNING, TERMINATED } = ResourceStatus;

/** rik's own sends orders to destroy only for instances in its database. */
/** Statuses that were caused earlier have arrived. */
async function settled(controller: TestController): Promise<void> {
  await controller.schedule("marker");
  await controller.until("marker", RUNNING);
  await controller.destroy("marker");
  await controller.until("marker", TERMINATED);
}

test("an instance that only the database of rik's controller has ends when it is destroyed, once", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const first = await bed.rikController();
  await first.destroy("ghost"); // nothing can have been lost before the first one
  await settled(first);
  expect(first.of("ghost")).toEqual([]);
  await bed.restart();
  await bed.readyWorker("node-a");
  const next = await bed.rikController(); // its request was under way when the server was killed
  for (const id of ["ghost", "ghost"]) await next.destroy(id);
  await next.schedule("a");
  await next.until("a", RUNNING);
  await next.destroy("a");
  await next.until("a", TERMINATED);
  await next.destroy("a");
  await settled(next);
  expect(next.of("ghost")).toEqual([TERMINATED]);
  expect(next.of("a").filter((status) => status === TERMINATED).length).toBe(1);
});

test("other clients may destroy what they never had: they receive nothing of it", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const first = await bed.rikController();
  first.close();
  await until(() => expect(bed.door.controllers.count).toBe(0));
  const script = await bed.controller();
  await script.destroy("ghost");
  await settled(script);
  expect(script.of("ghost")).toEqual([]);
});
