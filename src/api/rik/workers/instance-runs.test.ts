import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EndCause, type RunEvent, WorkSchema } from "../../../gen/busbar/v1/agent_pb.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { limits } from "../../../limits.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { POD } from "../testing/rik-bed.ts";
import { InstanceRuns } from "./instance-runs.ts";

const functionAt = (port?: number): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Function",
    name: "f",
    spec: {
      function: {
        execution: { rootfs: "http://x/y" },
        exposure: port === undefined ? null : { port, targetPort: 8080, type: "NodePort" },
      },
    },
  });

function aWorker() {
  const clock = new FakeClock();
  const orders: string[] = [];
  const events: RunEvent[] = [];
  const silent: string[] = [];
  const runs = new InstanceRuns({
    clock,
    destroyTimes: { retryMs: 5_000, triesMax: 3 },
    create: (id) => orders.push(`create ${id}`),
    destroy: (id) => orders.push(`destroy ${id}`),
    report: (event) => events.push(event),
    onSilent: (id) => silent.push(id),
  });
  const start = (job: number, workload: string): void =>
    runs.work(
      create(WorkSchema, {
        specs: [{ job, jobName: `i-${job}`, workload }],
        starts: [{ job, index: 0, attempt: 1 }],
      }),
    );
  const stop = (job: number): void =>
    runs.work(create(WorkSchema, { stops: [{ job, index: 0, attempt: 1 }] }));
  const ends = () =>
    events.flatMap(({ id, event }) =>
      event?.case === "ended" ? [[id?.job, event.value.cause, event.value.message]] : [],
    );
  const faults = () =>
    events.flatMap(({ event }) => (event?.case === "ended" ? [event.value.isNodeFault] : []));
  return { clock, orders, events, silent, runs, start, stop, ends, faults };
}

test("no two instances on one worker have the same port; it is free again when the first is removed", () => {
  const { orders, runs, start, stop, ends, faults } = aWorker();
  start(1, functionAt(46_000));
  start(2, functionAt(46_000));
  expect(orders).toEqual(["create i-1"]);
  const taken = "port 46000 is used by another instance on this worker";
  expect(ends()).toEqual([[2, EndCause.COULD_NOT_START, taken]]);
  // It fails nowhere: another worker may have the port.
  expect(faults()).toEqual([true]);
  runs.heard("i-1", ResourceStatus.RUNNING);
  stop(1);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  start(3, functionAt(46_000));
  expect(orders).toEqual(["create i-1", "destroy i-1", "create i-3"]);
});

test("a function without a port of its own gets one that no other instance on the worker has", () => {
  const { orders, runs, start, ends } = aWorker();
  start(1, functionAt(45_002));
  start(2, functionAt());
  start(5_002, functionAt());
  expect(orders).toEqual(["create i-1", "create i-2", "create i-5002"]);
  expect([1, 2, 5_002].map((job) => runs.portOf(job))).toEqual([45_002, 45_003, 45_004]);
  expect(ends()).toEqual([]);
});

test("an order to destroy is repeated at growing intervals until it is acknowledged", () => {
  const { clock, orders, silent, runs, start, stop, ends } = aWorker();
  start(1, POD);
  runs.heard("i-1", ResourceStatus.RUNNING);
  stop(1);
  stop(1); // repeated by the core: nothing is sent twice for that
  clock.advance(5_000);
  expect(orders.filter((order) => order === "destroy i-1").length).toBe(2);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  clock.advance(600_000);
  expect(orders.filter((order) => order === "destroy i-1").length).toBe(2);
  expect([ends(), silent]).toEqual([[[1, EndCause.STOPPED, ""]], []]);
});

test("an order that is never acknowledged is repeated a limited number of times, then the instance counts as gone", () => {
  const { clock, orders, silent, runs, start, stop, ends } = aWorker();
  start(1, POD);
  runs.heard("i-1", ResourceStatus.RUNNING);
  stop(1);
  clock.advance(15_000); // 5 s, 10 s
  expect(orders.filter((order) => order === "destroy i-1").length).toBe(3);
  expect(ends()).toEqual([]);
  clock.advance(20_000);
  expect(orders.length).toBe(4);
  expect([ends(), silent]).toEqual([[[1, EndCause.STOPPED, ""]], ["i-1"]]);
});

test("a worker that ends an instance by itself has ended it; nothing starts it again", () => {
  const { orders, runs, start, ends } = aWorker();
  start(1, POD);
  runs.heard("i-1", ResourceStatus.RUNNING);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  expect(ends()).toEqual([[1, EndCause.EXITED, ""]]);
  expect([runs.count, orders]).toEqual([0, ["create i-1"]]);
});

test("an instance that fails after it ran has no exit code, and its reason says so", () => {
  const { runs, start, ends } = aWorker();
  start(1, POD);
  runs.heard("i-1", ResourceStatus.RUNNING);
  runs.heard("i-1", ResourceStatus.FAILED);
  const reason =
    "its worker reports that it failed, and gives no reason; see the log of the worker";
  expect(ends()).toEqual([[1, EndCause.EXITED, reason]]);
});

test("a late acknowledgement of an instance that counts as gone does not end the next one of its name", () => {
  const { clock, events, runs, start, stop, ends } = aWorker();
  start(1, POD);
  runs.heard("i-1", ResourceStatus.RUNNING);
  stop(1);
  clock.advance(35_000);
  expect(ends()).toEqual([[1, EndCause.STOPPED, ""]]);
  runs.durable(events);
  start(1, POD);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  runs.heard("i-1", ResourceStatus.CREATING);
  runs.heard("i-1", ResourceStatus.RUNNING);
  expect([runs.count, ends().length]).toEqual([1, 1]);
  stop(1);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  expect([runs.count, ends().length]).toEqual([0, 2]);
});

test("tasks of an array are instances with names of their own, and the spec lasts as long as one of them", () => {
  const { orders, runs, ends, events } = aWorker();
  const at = (index: number) => ({ job: 7, index, attempt: 1 });
  const specs = [{ job: 7, jobName: "web", workload: POD }];
  runs.work(create(WorkSchema, { specs, starts: [at(0), at(1), at(2)] }));
  expect(orders).toEqual(["create web", "create web.7", "create web.7.2.1"]);
  runs.heard("web", ResourceStatus.RUNNING);
  runs.heard("web", ResourceStatus.FAILED);
  runs.durable(events);
  runs.work(create(WorkSchema, { starts: [at(3)] }));
  expect(orders.at(-1)).toBe("create web");
  expect(ends().length).toBe(1);
});

test("a worker that is slow is asked for few ends at once, and for none of them twice", () => {
  const { clock, orders, silent, runs, start, stop, ends } = aWorker();
  const total = 1_000;
  for (let job = 1; job <= total; job++) {
    start(job, POD);
    runs.heard(`i-${job}`, ResourceStatus.RUNNING);
  }
  for (let job = 1; job <= total; job++) stop(job);
  const destroyed = (): string[] => orders.filter((order) => order.startsWith("destroy"));
  expect(destroyed().length).toBe(limits.rikDestroysUnderWayMax);
  for (let job = 1; job <= total; job++) {
    clock.advance(50); // 50 s for all of them: more than the 35 s of an order that is not answered
    runs.heard(`i-${job}`, ResourceStatus.TERMINATED);
  }
  expect([destroyed().length, ends().length, silent]).toEqual([total, total, []]);
});

test("a worker that answers nothing delays the end of many instances no longer than that of one", () => {
  const { clock, silent, runs, start, stop, ends } = aWorker();
  const total = 3 * limits.rikDestroysUnderWayMax;
  for (let job = 1; job <= total; job++) {
    start(job, POD);
    runs.heard(`i-${job}`, ResourceStatus.RUNNING);
  }
  for (let job = 1; job <= total; job++) stop(job);
  clock.advance(5_000 + 35_000);
  expect([ends().length, silent.length]).toEqual([total, total]);
});
