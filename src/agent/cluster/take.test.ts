import { beforeEach, describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import type { RunId } from "../../ports/executor.ts";
import { settle } from "../../testing/fake-clock.ts";
import type { TakeCapacity } from "../../core/model/node/take-capacity.ts";
import { useAgentBed } from "../testing/agent-bed.ts";

const id = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });

const bed = useAgentBed();
let coalesceMs: number;
let room: () => TakeCapacity;

beforeEach(() => {
  coalesceMs = limits.reportCoalesceMs;
  room = () => ({ tasks: 3 - bed.executor.started.length, free: { cpu: 3_000 } });
  bed.start({
    name: "blue-agent",
    cluster: "blue",
    capacity: {},
    labels: {},
    bootId: "slurm",
    clock: {
      nowMs: () => bed.clock.nowMs(),
      after: (ms, wake) => bed.clock.after(ms === limits.reportCoalesceMs ? coalesceMs : ms, wake),
    },
    clusterAgent: { leaseMs: 600_000, onLost: "keep", room: () => room() },
  });
});

const takes = () => bed.server.last.all("take").map(({ tasks, free }) => ({ tasks, free }));
const give = (...jobs: readonly number[]): void => {
  const starts = jobs.map((job) => ({ job, index: 0, attempt: 1 }));
  const specs = jobs.map((job) => ({ job, argv: ["true"] }));
  bed.server.last.send({ case: "work", value: { specs, starts } });
};

describe("an agent of a whole cluster", () => {
  test("sends that, and how long it may be away, in each Hello", async () => {
    expect(bed.server.last.all("hello")[0]?.clusterAgent).toMatchObject({
      leaseMs: 600_000,
      onLost: "keep",
    });
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.last.all("hello")[0]?.clusterAgent).toMatchObject({ onLost: "keep" });
  });

  test("sends the capacity that it would accept after Welcome, and again when it changes", async () => {
    bed.agent.roomChanged();
    await bed.clock.pass(100);
    expect(takes()).toEqual([]);
    bed.server.last.welcome();
    await bed.clock.pass(100);
    expect(takes()).toEqual([{ tasks: 3, free: { cpu: 3_000 } }]);
    bed.agent.roomChanged();
    await bed.clock.pass(100);
    expect(takes()).toHaveLength(1);
    room = () => ({ tasks: 0, free: { cpu: 0 } });
    for (let at = 0; at < 5; at++) bed.agent.roomChanged();
    await bed.clock.pass(100);
    expect(takes()).toEqual([
      { tasks: 3, free: { cpu: 3_000 } },
      { tasks: 0, free: { cpu: 0 } },
    ]);
  });

  test("sends it again after a start, although it is unchanged", async () => {
    room = () => ({ tasks: 3, free: {} });
    bed.server.last.welcome();
    await bed.clock.pass(100);
    give(1);
    await bed.clock.pass(100);
    expect(takes()).toEqual([
      { tasks: 3, free: {} },
      { tasks: 3, free: {} },
    ]);
  });

  test("subtracts assigned tasks before it sends the rest, however long starting takes", async () => {
    coalesceMs = 0;
    room = () => ({ tasks: 100 - bed.executor.started.length, free: {} });
    bed.server.last.welcome();
    await bed.clock.pass(100);
    give(...Array.from({ length: 4 * limits.startsPerSliceMax }, (_, at) => at + 1));
    await bed.clock.pass(100);
    const given = 4 * limits.startsPerSliceMax;
    expect(takes().map(({ tasks }) => tasks)).toEqual([100, 100 - given]);
    expect(bed.server.last.all("take").map(({ seen }) => seen)).toEqual([0, given]);
  });

  test("sends it to a new server without a request", async () => {
    bed.server.last.welcome();
    await bed.clock.pass(100);
    give(7);
    await settle();
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    bed.server.last.welcome();
    await bed.clock.pass(100);
    expect(bed.server.last.all("hello")[0]?.runs).toMatchObject([{ job: id(7).jobId }]);
    expect(takes()).toEqual([{ tasks: 2, free: { cpu: 3_000 } }]);
  });
});
