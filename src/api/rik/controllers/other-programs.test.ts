import { expect, test } from "vitest";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { OTHERS } from "../translate.ts";
import { LIKE_RIK, POD, until, useRikBeds } from "../testing/rik-bed.ts";

const open = useRikBeds();
const { FAILED, RUNNING, TERMINATED } = ResourceStatus;

test("rik's controller receives nothing of instances that other programs created: it would exit", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const rik = await bed.rikController();
  const script = bed.caller(); // does not subscribe
  for (const id of ["s", "ended"]) await script.schedule(id);
  await script.schedule("refused", "{");
  await script.destroy("ended");
  await rik.schedule("own");
  await rik.until("own", RUNNING);
  await until(() => expect(bed.door.book.find(OTHERS, "s")?.state.status).toBe(RUNNING));
  const foreign = ["s", "ended", "refused"];
  expect(foreign.map((id) => rik.of(id))).toEqual([[], [], []]);
  await bed.restart();
  await bed.readyWorker("node-a");
  const again = await bed.rikController();
  await again.until("own", RUNNING);
  expect(foreign.map((id) => again.of(id))).toEqual([[], [], []]);
  const other = await bed.controller();
  await other.until("s", RUNNING);
  await other.until("ended", TERMINATED);
  await other.until("refused", FAILED);
  expect(other.of("own")).toEqual([]);
});

test("an id of another program is free for rik's controller", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const rik = await bed.rikController();
  await bed.caller().schedule("a");
  await until(() => expect(bed.door.book.find(OTHERS, "a")?.state.status).toBe(RUNNING));
  await rik.schedule("a", POD);
  await rik.until("a", RUNNING);
  await rik.destroy("a");
  await rik.until("a", TERMINATED);
});

test("of two controllers of rik without names one whose connection was cut is restarted: the other receives nothing of its instances", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const [cut, other] = [await bed.rikController(), await bed.rikController()];
  await cut.schedule("before");
  await cut.until("before", RUNNING);
  cut.close();
  await until(() => expect(bed.door.controllers.count).toBe(1));
  const reconnected = bed.caller(LIKE_RIK); // rik's controller calls over a new connection, and does not subscribe again
  await expect(reconnected.schedule("after")).rejects.toThrow("subscribe again");
  await expect(reconnected.destroy("before")).rejects.toThrow("subscribe again");
  await other.schedule("own");
  await other.until("own", RUNNING);
  expect(["before", "after"].map((id) => other.of(id))).toEqual([[], []]);
  const restarted = await bed.rikController();
  await restarted.until("after", RUNNING);
  await restarted.until("before", TERMINATED);
});

test("a proxy may send each call of rik's only controller over a connection of its own", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const rik = await bed.rikController();
  await bed.caller(LIKE_RIK).schedule("a");
  await rik.until("a", RUNNING);
});
