import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { ANYBODY } from "../translate.ts";
import {
  type RikBed,
  type TestController,
  type TestWorker,
  until,
  useRikBeds,
} from "../testing/rik-bed.ts";

const open = useRikBeds();
const { CREATING, FAILED, RUNNING, TERMINATED } = ResourceStatus;

/** An instance that has failed; the event of that is held back. */
async function failedUnseen(
  bed: RikBed,
): Promise<{ readonly controller: TestController; readonly worker: TestWorker }> {
  const worker = await bed.readyWorker("node-a", () => []);
  const controller = await bed.rikController();
  await controller.schedule("a");
  await until(() => expect(worker.orders.length).toBe(1));
  bed.events.hold();
  await worker.tell("a", CREATING);
  await worker.tell("a", FAILED);
  const jobId = bed.door.book.find(ANYBODY, "a")?.jobId ?? "";
  await until(async () => expect((await bed.plane.operations.getJob(jobId)).state).toBe("failed"));
  return { controller, worker };
}

test("an instance that fails while its controller destroys it ends", async () => {
  const bed = await open();
  const { controller } = await failedUnseen(bed);
  await controller.destroy("a");
  bed.events.release();
  await controller.until("a", TERMINATED);
  expect(controller.of("a").filter((status) => status === TERMINATED).length).toBe(1);
});

test("one that is created again before that is known is a new one, and does not end", async () => {
  const bed = await open();
  const { controller, worker } = await failedUnseen(bed);
  await controller.destroy("a");
  await controller.schedule("a");
  bed.events.release();
  await until(() => expect(worker.orders.length).toBe(2));
  await worker.tell("a", RUNNING);
  await controller.until("a", RUNNING);
  expect(controller.of("a")).not.toContain(TERMINATED);
});
