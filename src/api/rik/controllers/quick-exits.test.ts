import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { limits } from "../../../limits.ts";
import { type RikBed, until, useRikBeds } from "../testing/rik-bed.ts";

const open = useRikBeds();
const { RUNNING, TERMINATED } = ResourceStatus;

const left = (bed: RikBed): Promise<void> =>
  until(() => expect(bed.door.controllers.count).toBe(0));

/** A controller with an instance, which ends, and is started again: at the status of the instance it ends, so many times. */
async function exits(bed: RikBed, times: number, openMs: number): Promise<void> {
  await bed.readyWorker("node-a");
  for (let at = 0; at <= times; at++) {
    const controller = await bed.rikController();
    if (at === 0) await controller.schedule("a");
    await controller.until("a", RUNNING);
    bed.clock.advance(at === 0 ? limits.rikQuickExitMs : openMs);
    controller.close();
    await left(bed);
  }
}

test("a controller of rik that ends again and again at its earlier instances gets no more of them, and lives", async () => {
  const bed = await open();
  await exits(bed, limits.rikQuickExitsMax, 0);
  const controller = await bed.rikController();
  await controller.schedule("b");
  await controller.until("b", RUNNING);
  expect(controller.of("a")).toEqual([]);
  await controller.destroy("a");
  await controller.until("a", TERMINATED);
});

test("one more try is made before that", async () => {
  const bed = await open();
  await exits(bed, limits.rikQuickExitsMax - 1, 0);
  await (await bed.rikController()).until("a", RUNNING);
});

test("a controller that is restarted often, and lives for a while each time, gets its instances", async () => {
  const bed = await open();
  await exits(bed, limits.rikQuickExitsMax, limits.rikQuickExitMs);
  await (await bed.rikController()).until("a", RUNNING);
});
