import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { limits } from "../../../limits.ts";
import { type RikBed, type TestWorker, until, useRikBeds } from "../testing/rik-bed.ts";

const { CREATING, RUNNING } = ResourceStatus;
const open = useRikBeds();
const UNDER_WAY = limits.rikCreatesUnderWayMax;
const QUEUED = 5;
const silent = () => [];

/** A worker whose heartbeats go on while its work is stuck, with more instances than it receives at once. */
async function stuckWorker(bed: RikBed): Promise<TestWorker> {
  const worker = await bed.readyWorker("stuck", silent);
  const controller = await bed.controller();
  for (let at = 0; at < UNDER_WAY + QUEUED; at++) await controller.schedule(`i-${at}`);
  await until(() => expect(worker.orders).toHaveLength(UNDER_WAY));
  return worker;
}

/** Lets time pass while the workers send heartbeats. */
async function pass(bed: RikBed, ms: number, workers: readonly TestWorker[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += limits.rikBeatMs) {
    bed.clock.advance(limits.rikBeatMs);
    for (const worker of workers) if (worker.code === undefined) await worker.beat();
  }
}

const stateOf = async (bed: RikBed, node: string): Promise<string> =>
  (await bed.plane.operations.getNode(node)).state;

test("a worker that answers no order gets no more, and others run what it has not received", async () => {
  const bed = await open();
  const stuck = await stuckWorker(bed);
  const other = await bed.readyWorker("other");
  expect(other.orders).toEqual([]);
  await pass(bed, limits.rikUnansweredMs, [stuck, other]);
  await until(async () => expect(await stateOf(bed, "rik-stuck")).toBe("unhealthy"));
  await until(() => expect(other.orders).toHaveLength(QUEUED));
  expect(stuck.orders).toHaveLength(UNDER_WAY);
  await stuck.tell("i-0", CREATING);
  await until(async () => expect(await stateOf(bed, "rik-stuck")).toBe("connected"));
});

test("a slow worker that answers now and then keeps its instances", async () => {
  const bed = await open();
  const slow = await stuckWorker(bed);
  for (let at = 0; at < 4; at++) {
    await pass(bed, limits.rikUnansweredMs - limits.rikBeatMs, [slow]);
    expect(await stateOf(bed, "rik-stuck")).toBe("connected");
    await slow.tell(`i-${at}`, RUNNING);
    await until(() => expect(slow.orders).toHaveLength(UNDER_WAY + at + 1));
  }
});

test("a worker that answers no order for long is lost, and others run all of its instances", async () => {
  const bed = await open();
  const stuck = await stuckWorker(bed);
  const other = await bed.readyWorker("other");
  await pass(bed, limits.rikMuteMs + 2 * limits.rikBeatMs, [stuck, other]);
  await until(() => expect(stuck.code).toBeDefined());
  expect(stuck.details).toContain("answered none of its orders");
  await pass(bed, 2 * limits.rikBeatMs, [other]);
  await until(() => {
    bed.clock.advance(1_000);
    expect(new Set(other.orders.map(({ instanceId }) => instanceId)).size).toBe(UNDER_WAY + QUEUED);
  });
});

test("a worker without orders under way is not mute", async () => {
  const bed = await open();
  const idle = await bed.readyWorker("idle");
  const controller = await bed.controller();
  await controller.schedule("a");
  await controller.until("a", RUNNING);
  await pass(bed, limits.rikMuteMs + limits.rikUnansweredMs, [idle]);
  expect([idle.code, await stateOf(bed, "rik-idle")]).toEqual([undefined, "connected"]);
});
