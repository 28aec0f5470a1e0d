import { status as grpc } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  ResourceStatus,
  type WorkerStatus,
  WorkloadRequestKind,
} from "../../gen/rik/v1/common_pb.ts";
import { Relay } from "../../testing/relay.ts";
import { likeRiklet, metricsOf, POD, TestWorker, until, useRikBeds } from "./testing/rik-bed.ts";

import type { RikInstance } from "./controllers/instance.ts";
import { OTHERS, toSubmission } from "./translate.ts";

const open = useRikBeds();
const { PENDING, CREATING, RUNNING, DESTROYING, TERMINATED, FAILED } = ResourceStatus;

test("an instance goes from the controller to a worker and back, and so does its end", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  expect(controller.of("web-1")).toEqual([CREATING, RUNNING]);
  expect(controller.metricsOf("web-1")).toContain('"workload_id": "w1"');
  expect(worker.orders[0]).toMatchObject({
    instanceId: "web-1",
    action: WorkloadRequestKind.CREATE,
  });
  expect(JSON.parse(worker.orders[0]?.definition ?? "")).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    name: "web",
    spec: {
      containers: [{ name: "main", image: "alpine:latest", env: null, ports: null }],
      function: null,
    },
    replicas: null,
  });
  await controller.destroy("web-1");
  await controller.until("web-1", TERMINATED);
  expect(controller.of("web-1")).toEqual([CREATING, RUNNING, DESTROYING, TERMINATED]);
  expect(worker.orders.map(({ action }) => action)).toEqual([0, 1]);
  expect(bed.door.book.count).toBe(0);
});

test("a worker without a host name, and a second one of the same name, are refused in rik's words", async () => {
  const bed = await open();
  const nameless = await bed.worker("").catch(() => undefined);
  expect(nameless?.code).toBe(grpc.FAILED_PRECONDITION);
  expect(nameless?.details).toBe("No hostname specified");
  const first = await bed.readyWorker("node-a");
  const second = await bed.worker("node-a");
  await until(() => expect(second.code).toBe(grpc.ALREADY_EXISTS));
  expect(second.details).toBe("Worker with this hostname already exist");
  expect(first.code).toBeUndefined();
});

test("instances wait for the first heartbeat of a worker, and are spread by the capacity of workers", async () => {
  const bed = await open();
  const controller = await bed.controller();
  for (let at = 0; at < 50; at++) await controller.schedule(`i-${at}`);
  const small = await bed.readyWorker("small", likeRiklet, metricsOf(1));
  await until(() => expect(small.orders.length).toBe(50));
  const large = await bed.readyWorker("large", likeRiklet, metricsOf(4));
  for (let at = 50; at < 250; at++) await controller.schedule(`i-${at}`);
  await until(() => expect(small.orders.length + large.orders.length).toBe(250));
  expect(large.orders.length).toBe(200);
});

test("an instance that requests more than one worker has goes to another that has it", async () => {
  const bed = await open();
  const controller = await bed.controller();
  const small = await bed.readyWorker("small", likeRiklet, metricsOf(1, 1));
  const resources = { requests: { cpu: "1500m", memory: "2Gi" } };
  const spec = { containers: [{ name: "main", image: "alpine:latest", resources }] };
  const definition = JSON.stringify({ ...JSON.parse(POD), spec });
  await controller.schedule("big", definition);
  await bed.readyWorker("large", likeRiklet, metricsOf(2, 4));
  await controller.until("big", RUNNING);
  expect(small.orders).toEqual([]);
});

test("an invalid definition, or one that would crash a worker, is answered OK and reported as failed", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  const untagged = POD.replace("alpine:latest", "alpine");
  await controller.schedule("bad-json", "{");
  await controller.schedule("untagged", untagged);
  await controller.until("untagged", FAILED);
  await controller.until("bad-json", FAILED);
  expect(controller.metricsOf("untagged")).toContain("has no tag");
  const long = "x".repeat(200);
  await controller.schedule(long);
  await controller.until(long, FAILED);
  expect(controller.metricsOf(long)).toContain('"reason": "instance_id: must have');
  expect(worker.orders).toEqual([]);
  await controller.destroy("untagged", untagged);
  await controller.until("untagged", TERMINATED);
  expect(controller.of("untagged")).toEqual([FAILED, DESTROYING, TERMINATED]);
  await controller.destroy("never-there");
  await controller.destroy("untagged", untagged);
  await controller.schedule("after", POD);
  await controller.until("after", RUNNING);
  expect(controller.of("never-there")).toEqual([]);
  expect(controller.of("untagged").length).toBe(3);
});

test("an order to destroy goes to the owner, is repeated, and ends by itself in the end", async () => {
  const bed = await open();
  const silent = (order: { action: WorkloadRequestKind }): ResourceStatus[] =>
    order.action === WorkloadRequestKind.CREATE ? [CREATING, RUNNING] : [];
  const owner = await bed.readyWorker("owner", silent);
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  const other = await bed.readyWorker("other");
  await controller.destroy("web-1");
  await controller.until("web-1", DESTROYING);
  for (let round = 0; round < 6; round++) {
    await owner.beat();
    await other.beat();
    bed.clock.advance(40_000);
    await owner.beat();
    await other.beat();
    bed.clock.advance(40_000);
  }
  await controller.until("web-1", TERMINATED);
  expect(owner.orders.filter(({ action }) => action === WorkloadRequestKind.DESTROY).length).toBe(
    5,
  );
  expect(other.orders).toEqual([]);
});

test("instances of a lost worker are placed again, and the controller receives the reason", async () => {
  const bed = await open();
  const first = await bed.readyWorker("first");
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  const second = await bed.readyWorker("second");
  first.close();
  await until(() => expect(bed.door.workers.count).toBe(1));
  await second.beat();
  await until(async () => {
    bed.clock.advance(1_000);
    await second.beat();
    expect(second.orders.length).toBe(1);
  });
  await controller.until("web-1", RUNNING);
  expect(reasonsOf(controller, "web-1")).toContain("lost: node rik-first was lost");
});

const reasonsOf = ({ told }: { readonly told: readonly WorkerStatus[] }, id: string): string =>
  told
    .map(({ status }) =>
      status.case === "instance" && status.value.instanceId === id ? status.value.metrics : "",
    )
    .join("\n");

test("an instance of a lost worker that fits no other is pending, on no worker", async () => {
  const bed = await open();
  const only = await bed.readyWorker("only");
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  only.close();
  await until(() => {
    bed.clock.advance(1_000);
    expect(controller.of("web-1").at(-1)).toBe(PENDING);
  });
  const metrics = '"workload_id": "w1", "reason": "is placed again: lost: node rik-only was lost"';
  expect(controller.metricsOf("web-1")).toBe(metrics);
});

test("a failed instance shows its worker, whose log has the reason", async () => {
  const bed = await open();
  const controller = await bed.controller();
  await bed.readyWorker("node-a", () => [CREATING, FAILED]);
  await controller.schedule("a");
  await controller.until("a", FAILED);
  expect(controller.metricsOf("a")).toMatch(/"node": "rik-node-a", "reason": "could not start/);
});

test("a worker that registers again runs nothing: its instances are placed again at once", async () => {
  const bed = await open();
  const first = await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  first.close();
  await until(() => expect(bed.door.workers.count).toBe(0));
  const again = await bed.readyWorker("node-a");
  await until(() => expect(again.orders.length).toBe(1));
  await until(() => expect(controller.of("web-1").slice(-2)).toEqual([CREATING, RUNNING]));
});

test("a worker takes the host name of one that is cut off, and its first heartbeat counts", async () => {
  const bed = await open();
  const relay = await Relay.start(bed.address);
  const cutOff = new TestWorker(relay.address, "node-a", likeRiklet);
  try {
    await cutOff.hasHeaders;
    await cutOff.beat();
    relay.pause();
    const worker = await bed.worker("node-a");
    await worker.beat();
    const controller = await bed.controller();
    await controller.schedule("web-1");
    await controller.until("web-1", RUNNING); // the next heartbeat would come in 15 s
    expect(worker.orders.length).toBe(1);
  } finally {
    cutOff.close();
    await relay.close();
  }
});

test("a worker without a heartbeat for 45 s is given up", async () => {
  const bed = await open();
  const quiet = await bed.readyWorker("quiet");
  for (let at = 0; at < 11; at++) bed.clock.advance(5_000);
  await until(() => expect(quiet.code).toBe(grpc.UNAVAILABLE));
  expect(quiet.details).toContain("no heartbeat");
});

test("each controller receives statuses of its own instances, also when it reconnects", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const [one, two] = [await bed.controller(), await bed.controller()];
  await one.schedule("a");
  await two.schedule("b");
  await one.until("a", RUNNING);
  await two.until("b", RUNNING);
  expect([one.of("b"), two.of("a")]).toEqual([[], []]);
  one.close();
  await until(() => expect(bed.door.controllers.count).toBe(1));
  await two.destroy("a");
  await until(() => expect(bed.door.book.find(OTHERS, "a")?.state.status).toBe(TERMINATED));
  const back = await bed.controller();
  await back.until("a", TERMINATED);
  expect(back.of("a")).toEqual([TERMINATED]);
  expect(back.of("b")).toEqual([]);
});

test("a restarted server sends missed statuses, and an end only once", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("a");
  await controller.schedule("b");
  await controller.until("a", RUNNING);
  await controller.until("b", RUNNING);
  await controller.destroy("b");
  await controller.until("b", TERMINATED);
  await bed.restart();
  const back = await bed.controller();
  await back.until("a", RUNNING);
  const worker = await bed.readyWorker("node-a");
  await until(() => expect(worker.orders.map(({ instanceId }) => instanceId)).toEqual(["a"]));
  await back.until("a", RUNNING);
  expect(back.of("b")).toEqual([]);
});

test("an end that a killed server may not have sent is sent when its controller destroys the instance again, once", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  for (const id of ["lost", "received"]) {
    await controller.schedule(id);
    await controller.until(id, RUNNING);
    await controller.destroy(id);
    await controller.until(id, TERMINATED);
  }
  const noteOf = async (id: string) => {
    const { jobs } = await bed.plane.operations.listJobs({ name: id }, {});
    return `rik/gone/${jobs[0]?.id}`;
  };
  const noted = async () =>
    new Map((await bed.plane.operations.listDoorRecords("rik")).map(({ id, text }) => [id, text]));
  const [lost, received] = [await noteOf("lost"), await noteOf("received")];
  await until(async () => {
    const notes = await noted();
    expect([notes.get(lost), notes.get(received)]).toEqual(["sent", "sent"]);
  });
  await bed.plane.operations.putDoorRecords([{ id: lost, text: "" }]); // as a killed server leaves it
  await bed.restart();
  const back = await bed.controller();
  for (const id of ["lost", "received", "lost", "unknown"]) await back.destroy(id);
  await back.schedule("after");
  await bed.readyWorker("node-a");
  await back.until("after", RUNNING);
  expect([back.of("lost"), back.of("received")]).toEqual([[TERMINATED], []]);
  expect((await noted()).get(lost)).toBe("sent");
});

test("an end that did not leave before the stream of its controller ended goes to the next one, also after a restart", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  const instances = [];
  for (const id of ["a", "b"]) {
    await controller.schedule(id);
    await controller.until(id, RUNNING);
    instances.push(bed.door.book.find(OTHERS, id));
    await controller.destroy(id);
    await controller.until(id, TERMINATED);
  }
  controller.close();
  await until(() => expect(bed.door.controllers.count).toBe(0));
  const [a, b] = instances as [RikInstance, RikInstance];
  bed.door.book.notTold(a);
  const next = await bed.controller();
  await next.until("a", TERMINATED);
  next.close();
  await until(() => expect(bed.door.controllers.count).toBe(0));
  bed.door.book.notTold(b);
  await bed.restart();
  const last = await bed.controller();
  await last.until("b", TERMINATED);
  expect([next.of("b"), last.of("a")]).toEqual([[], []]);
});

test("jobs of other doors with the labels of an instance are none, also after a restart", async () => {
  const bed = await open();
  await bed.readyWorker("node-a");
  const controller = await bed.controller();
  await controller.schedule("web-1");
  await controller.until("web-1", RUNNING);
  await controller.destroy("web-1");
  await controller.until("web-1", TERMINATED);
  const { operations } = bed.plane;
  const [ended] = (await operations.listJobs({}, {})).jobs;
  await operations.rerunJob(ended?.id ?? "", {});
  await operations.submitJobs([toSubmission({ ...OTHER, id: "other" })], {
    allowUnsatisfiable: true,
  });
  await bed.restart();
  await bed.readyWorker("node-a");
  const again = await bed.controller();
  await again.schedule("web-2");
  await again.until("web-2", RUNNING);
  expect([again.of("web-1"), again.of("other")]).toEqual([[], []]);
});

const OTHER = { controller: OTHERS, workloadId: "w1", definition: POD };

test("controllers receive all workers, with their addresses, whenever these connected", async () => {
  const bed = await open();
  await bed.readyWorker("early");
  const controller = await bed.controller();
  const late = await bed.readyWorker("late");
  const workers = (): Map<string, unknown> =>
    new Map(
      controller.told.flatMap(({ status, identifier, hostAddress }) =>
        status.case === "worker" ? [[identifier, { hostAddress, ...status.value }]] : [],
      ),
    );
  await until(() => expect([...workers().keys()]).toEqual(["early", "late"]));
  await until(() =>
    expect(workers().get("late")).toMatchObject({ status: RUNNING, metrics: metricsOf(4) }),
  );
  expect(workers().get("early")).toMatchObject({
    hostAddress: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  });
  late.close();
  await until(() => expect(workers().get("late")).toMatchObject({ status: TERMINATED }));
});

test("two controllers without names that choose the same id: the second gets an error and cannot destroy the instance of the first", async () => {
  const bed = await open();
  const worker = await bed.readyWorker("node-a");
  const [first, second] = [await bed.controller(), await bed.controller()];
  await first.schedule("one");
  await first.until("one", ResourceStatus.RUNNING);
  await second.schedule("one", POD, "w2");
  await second.until("one", ResourceStatus.FAILED);
  expect(second.metricsOf("one")).toContain("another controller without a name");
  await second.destroy("one");
  await second.until("one", ResourceStatus.TERMINATED);
  await second.destroy("one"); // the id is not its own
  await first.schedule("two");
  await first.until("two", ResourceStatus.RUNNING);
  expect(first.of("one")).toEqual([ResourceStatus.CREATING, ResourceStatus.RUNNING]);
  expect(worker.orders.map(({ instanceId, action }) => [instanceId, action])).toEqual([
    ["one", 0],
    ["two", 0],
  ]);
  await first.destroy("one");
  await first.until("one", ResourceStatus.TERMINATED);
});
