import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { useRikBeds } from "../testing/rik-bed.ts";

const { RUNNING, FAILED, TERMINATED } = ResourceStatus;
const open = useRikBeds();

test("an end or a failure that a worker reports unasked reaches the controller once, with a reason", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  for (const id of ["ends", "fails"]) {
    await controller.schedule(id);
    await controller.until(id, RUNNING);
  }
  for (let twice = 0; twice < 2; twice++) {
    await worker.tell("ends", TERMINATED);
    await worker.tell("fails", FAILED);
  }
  await controller.until("ends", TERMINATED);
  await controller.until("fails", FAILED);
  expect(controller.metricsOf("ends")).toContain('"reason": "it ended by itself"');
  expect(controller.metricsOf("fails")).toContain("its worker reports that it failed");
  await controller.destroy("fails");
  await controller.until("fails", TERMINATED);
  for (const id of ["ends", "fails"]) {
    expect(controller.of(id).filter((status) => status === TERMINATED)).toHaveLength(1);
  }
  expect(worker.orders).toHaveLength(2);
});
