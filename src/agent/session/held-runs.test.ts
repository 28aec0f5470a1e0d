import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunId } from "../../ports/executor.ts";
import { createAgent } from "../agent.ts";
import { FakeClock, settle } from "../../testing/fake-clock.ts";
import { FakeExecutor } from "../testing/fake-executor.ts";
import { FakeServer } from "../testing/fake-server.ts";
import { limits } from "../../limits.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

const run = (jobId: number, index: number): RunId => ({ jobId, index, attempt: 1 });
const wire = ({ jobId, index, attempt }: RunId) => ({ job: jobId, index, attempt });

let clock: FakeClock;
let executor: FakeExecutor;
let server: FakeServer;
let controller: AbortController;
let result: Promise<void>;

beforeEach(async () => {
  clock = new FakeClock();
  executor = new FakeExecutor();
  server = new FakeServer();
  controller = new AbortController();
  const agent = createAgent({
    name: "n1",
    cluster: "c1",
    capacity: { cpu: 1_000 },
    labels: {},
    agentKey: "k".repeat(32),
    bootId: "boot",
    version: "1",
    canHold: true,
    executor,
    connect: server.connect,
    clock,
    random: { fraction: () => 0.5, token: () => "" },
    logger: silentLogger,
  });
  result = agent.run(controller.signal);
  server.last.welcome();
  await settle();
});
afterEach(async () => {
  controller.abort();
  await result;
});

const spec = (job: number, cpu: number) => ({ job, argv: ["true"], needs: { cpu }, arraySize: 9 });

/** One run of job 1 starts, and two more are held. */
function startAndHold(): void {
  const holds = [1, 2].map((index) => ({ id: wire(run(1, index)), heldAtMs: 70 + index }));
  const value = { specs: [spec(1, 1_000)], starts: [wire(run(1, 0))], holds };
  server.last.send({ case: "work", value });
}

const begun = () => executor.started.map(({ id }) => `${id.jobId}.${id.index}`);
const reports = () => server.last.all("reports").flatMap(({ events }) => events);

test("an agent says that it can hold runs", () => {
  expect(server.last.all("hello")[0]?.canHold).toBe(true);
});

test("a held run begins when one that needed the same ends, and one report says both", async () => {
  startAndHold();
  expect(begun()).toEqual(["1.0"]);
  executor.end(run(1, 0));
  expect(begun()).toEqual(["1.0", "1.1"]);
  await clock.pass(limits.reportOfReplacedMs);
  const [first] = reports();
  expect(first?.event).toMatchObject({ case: "ended", value: { began: wire(run(1, 1)) } });
});

test("one that needed something else makes no room", () => {
  startAndHold();
  server.last.send({ case: "work", value: { specs: [spec(2, 500)], starts: [wire(run(2, 0))] } });
  executor.end(run(2, 0));
  expect(begun()).toEqual(["1.0", "2.0"]);
});

test("nor does one that was stopped, could not start, or belongs to an earlier session", async () => {
  startAndHold();
  const end = { kind: "stopped", signal: "SIGTERM" } as const;
  executor.report(run(1, 0), { kind: "ended", startedAtMs: 1, endedAtMs: 2, end });
  expect(begun()).toEqual(["1.0"]);
  server.last.send({ case: "work", value: { starts: [wire(run(1, 3))] } });
  server.last.drop();
  await settle();
  await clock.pass(60_000);
  server.last.welcome();
  const holds = [{ id: wire(run(1, 4)), heldAtMs: 80 }];
  server.last.send({ case: "work", value: { specs: [spec(1, 1_000)], holds } });
  executor.end(run(1, 3));
  expect(begun()).toEqual(["1.0", "1.3"]);
});

test("a held run that is wanted back never begins; one that has begun is not given back", async () => {
  startAndHold();
  executor.end(run(1, 0));
  server.last.send({ case: "work", value: { returns: [run(1, 1), run(1, 2)].map(wire) } });
  executor.end(run(1, 1));
  expect(begun()).toEqual(["1.0", "1.1"]);
  await clock.pass(5);
  const given = reports().filter(({ event }) => event.case === "returned");
  expect(given).toMatchObject([{ id: wire(run(1, 2)), event: { value: { heldAtMs: 72 } } }]);
});

test("what is held is not named after a lost link; what has begun is", async () => {
  startAndHold();
  executor.end(run(1, 0));
  server.last.drop();
  await settle();
  await clock.pass(60_000);
  const named = server.last.all("hello")[0]?.runs.map(({ job, index }) => `${job}.${index}`);
  expect(named).toEqual(["1.0", "1.1"]);
});

test("an agent that cannot start anything begins nothing", () => {
  startAndHold();
  executor.sickness = "disk full";
  server.last.send({ case: "work", value: { specs: [spec(2, 500)], starts: [wire(run(2, 0))] } });
  const end = { kind: "node-fault", message: "disk full" } as const;
  executor.report(run(2, 0), { kind: "ended", startedAtMs: undefined, endedAtMs: 2, end });
  executor.end(run(1, 0));
  expect(begun()).toEqual(["1.0", "2.0"]);
});
