import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EndCause, type RunEvent, WorkSchema } from "../../../gen/busbar/v1/agent_pb.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { POD } from "../testing/rik-bed.ts";
import { InstanceRuns } from "./instance-runs.ts";

const functionAt = (port: number): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Function",
    name: "f",
    spec: {
      function: {
        execution: { rootfs: "http://x/y" },
        exposure: { port, targetPort: 8080, type: "NodePort" },
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
  return { clock, orders, silent, runs, start, stop, ends };
}

test("no two instances on one worker have the same port; it is free again when the first is removed", () => {
  const { orders, runs, start, stop, ends } = aWorker();
  start(1, functionAt(46_000));
  start(2, functionAt(46_000));
  expect(orders).toEqual(["create i-1"]);
  const taken = "port 46000 is used by another instance on this worker";
  expect(ends()).toEqual([[2, EndCause.COULD_NOT_START, taken]]);
  runs.heard("i-1", ResourceStatus.RUNNING);
  stop(1);
  runs.heard("i-1", ResourceStatus.TERMINATED);
  start(3, functionAt(46_000));
  expect(orders).toEqual(["create i-1", "destroy i-1", "create i-3"]);
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
