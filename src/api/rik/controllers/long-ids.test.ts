import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { POD, useRikBeds } from "../testing/rik-bed.ts";

const open = useRikBeds();
const { DESTROYING, FAILED, TERMINATED } = ResourceStatus;

const MIB = 1024 * 1024;

test.each([
  ["an id of 1,100 characters", "x".repeat(1_100)],
  ["an id of 300 characters that take six each in the store", "ü".repeat(300)],
])("%s is answered OK and reported as failed, also after a restart", async (_, id) => {
  const bed = await open();
  const first = await bed.controller();
  await first.schedule(id);
  await first.until(id, FAILED);
  await first.schedule(`${id}y`); // begins like the other
  await first.until(`${id}y`, FAILED);
  await bed.restart();
  const next = await bed.controller();
  for (const one of [id, `${id}y`]) {
    await next.until(one, FAILED);
    await next.destroy(one);
    await next.until(one, TERMINATED);
    expect(next.of(one)).toEqual([FAILED, DESTROYING, TERMINATED]);
  }
});

test("an id of a mebibyte, and a workload's, are answered OK and reported as failed", async () => {
  const bed = await open();
  const controller = await bed.controller();
  const long = "x".repeat(MIB);
  await controller.schedule(long);
  await controller.schedule("a", POD, long);
  await controller.until("a", FAILED);
  expect(controller.metricsOf("a")).toContain('"reason": "workload_id: ');
  for (const id of [long, "a"]) {
    await controller.until(id, FAILED);
    await controller.destroy(id);
    await controller.until(id, TERMINATED);
  }
});
