import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../limits.ts";
import type { RunId } from "../../ports/executor.ts";
import type { Agent } from "../agent.ts";
import { createAgent } from "../agent.ts";
import { FakeClock, settle } from "../../testing/fake-clock.ts";
import { FakeExecutor } from "../testing/fake-executor.ts";
import { FakeServer } from "../testing/fake-server.ts";
import type { Room } from "./room.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

const id = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });

let clock: FakeClock;
let coalesceMs: number;
let executor: FakeExecutor;
let server: FakeServer;
let agent: Agent;
let room: () => Room;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  coalesceMs = limits.reportCoalesceMs;
  executor = new FakeExecutor();
  server = new FakeServer();
  stop = new AbortController();
  room = () => ({ tasks: 3 - executor.started.length, free: { cpu: 3_000 } });
  agent = createAgent({
    name: "blue-agent",
    cluster: "blue",
    capacity: {},
    labels: {},
    agentKey: "k".repeat(32),
    bootId: "slurm",
    version: "1",
    executor,
    connect: server.connect,
    clock: {
      nowMs: () => clock.nowMs(),
      after: (ms, wake) => clock.after(ms === limits.reportCoalesceMs ? coalesceMs : ms, wake),
    },
    random: { fraction: () => 0.5, token: () => "" },
    logger: silentLogger,
    clusterAgent: { leaseMs: 600_000, onLost: "keep", room: () => room() },
  });
  running = agent.run(stop.signal);
});
afterEach(async () => {
  stop.abort();
  await running;
  expect(clock.timers).toBe(0);
});

const takes = () => server.last.all("take").map(({ tasks, free }) => ({ tasks, free }));
const give = (...jobs: readonly number[]): void => {
  const starts = jobs.map((job) => ({ job, index: 0, attempt: 1 }));
  const specs = jobs.map((job) => ({ job, argv: ["true"] }));
  server.last.send({ case: "work", value: { specs, starts } });
};

describe("an agent that speaks for a cluster", () => {
  test("says so, and for how long it may be away, in each hello", async () => {
    expect(server.last.all("hello")[0]?.clusterAgent).toMatchObject({
      leaseMs: 600_000,
      onLost: "keep",
    });
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.last.all("hello")[0]?.clusterAgent).toMatchObject({ onLost: "keep" });
  });

  test("tells what it would take once it is welcome, and again when that has changed", async () => {
    agent.roomChanged();
    await clock.pass(100);
    expect(takes()).toEqual([]);
    server.last.welcome();
    await clock.pass(100);
    expect(takes()).toEqual([{ tasks: 3, free: { cpu: 3_000 } }]);
    agent.roomChanged();
    await clock.pass(100);
    expect(takes()).toHaveLength(1);
    room = () => ({ tasks: 0, free: { cpu: 0 } });
    for (let at = 0; at < 5; at++) agent.roomChanged();
    await clock.pass(100);
    expect(takes()).toEqual([
      { tasks: 3, free: { cpu: 3_000 } },
      { tasks: 0, free: { cpu: 0 } },
    ]);
  });

  test("tells it again after it was given something, though it is the same", async () => {
    room = () => ({ tasks: 3, free: {} });
    server.last.welcome();
    await clock.pass(100);
    give(1);
    await clock.pass(100);
    expect(takes()).toEqual([
      { tasks: 3, free: {} },
      { tasks: 3, free: {} },
    ]);
  });

  test("counts what it was given before it tells what is left, however long starting takes", async () => {
    coalesceMs = 0;
    room = () => ({ tasks: 100 - executor.started.length, free: {} });
    server.last.welcome();
    await clock.pass(100);
    give(...Array.from({ length: 4 * limits.startsPerSliceMax }, (_, at) => at + 1));
    await clock.pass(100);
    const given = 4 * limits.startsPerSliceMax;
    expect(takes().map(({ tasks }) => tasks)).toEqual([100, 100 - given]);
    expect(server.last.all("take").map(({ seen }) => seen)).toEqual([0, given]);
  });

  test("tells a new server what it would take, with nothing asked", async () => {
    server.last.welcome();
    await clock.pass(100);
    give(7);
    await settle();
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    server.last.welcome();
    await clock.pass(100);
    expect(server.last.all("hello")[0]?.runs).toMatchObject([{ job: id(7).jobId }]);
    expect(takes()).toEqual([{ tasks: 2, free: { cpu: 3_000 } }]);
  });
});
