import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { EndCause, OutputStream, ServerMessageSchema } from "../gen/busbar/v1/agent_pb.ts";
import { silenceMsMax } from "../core/model/node/heartbeat.ts";
import { limits } from "../limits.ts";
import type { OutputPart, RunId } from "../ports/executor.ts";
import type { Agent } from "./agent.ts";
import { createAgent, reconnectDelayMs } from "./agent.ts";
import { FakeClock, settle } from "../testing/fake-clock.ts";
import { FakeExecutor } from "./testing/fake-executor.ts";
import { FakeServer } from "./testing/fake-server.ts";
import { silentLogger } from "../testing/silent-logger.ts";

const run = (jobId: number, index = 0, attempt = 1): RunId => ({ jobId, index, attempt });
const wire = (id: RunId) => ({ job: id.jobId, index: id.index, attempt: id.attempt });
const random = { fraction: () => 0.5, token: () => "" };

let clock: FakeClock;
let executor: FakeExecutor;
let server: FakeServer;
let controller: AbortController;
let result: Promise<unknown>;
let agent: Agent;
let machineFacts: string | undefined;

function startAgent(): void {
  agent = createAgent({
    ...(machineFacts === undefined ? {} : { machineFacts: () => machineFacts ?? "" }),
    name: "n1",
    cluster: "c1",
    capacity: { cpu: 4_000 },
    labels: { os: "linux" },
    agentKey: "k".repeat(32),
    bootId: "boot",
    version: "1",
    executor,
    connect: server.connect,
    clock,
    random,
    logger: silentLogger,
  });
  result = agent.run(controller.signal).then(
    () => "stopped",
    (error: unknown) => error,
  );
}

beforeEach(() => {
  clock = new FakeClock();
  executor = new FakeExecutor();
  server = new FakeServer();
  controller = new AbortController();
  machineFacts = undefined;
});
afterEach(async () => {
  controller.abort();
  await result;
  expect(clock.timers).toBe(0);
});

function sendStarts(job: number, ids: readonly RunId[], arraySize = 0): void {
  const spec = { job, argv: ["true"], env: { A: "1", BUSBAR_NODE: "forged" }, arraySize };
  server.last.send({ case: "work", value: { specs: [spec], starts: ids.map(wire) } });
}

async function welcomed(): Promise<void> {
  startAgent();
  server.last.welcome();
  await settle();
}

describe("an agent that cannot start anything", () => {
  const fault = (message: string) =>
    ({
      kind: "ended",
      startedAtMs: undefined,
      endedAtMs: 2,
      end: { kind: "node-fault", message },
    }) as const;
  const health = () => server.last.all("health").map(({ sickness }) => sickness);

  test("says so before it gives the task back, and again when its probe worked", async () => {
    await welcomed();
    executor.sickness = "still full";
    sendStarts(1, [run(1)]);
    await clock.pass(limits.startReportDelayMs);
    executor.report(run(1), fault("disk full"));
    await clock.pass(limits.reportCoalesceMs);
    const kinds = server.last.received.map((message) => message.case);
    expect(kinds.slice(0, 3)).toEqual(["hello", "reports", "health"]);
    expect(kinds.lastIndexOf("reports")).toBeGreaterThan(2);
    const [ended] = server.last.all("reports").at(-1)?.events ?? [];
    expect(ended?.event.value).toMatchObject({ isNodeFault: true, message: "disk full" });
    executor.sickness = undefined;
    await clock.pass(2 * limits.probeDelayMsMin);
    expect(health()).toEqual(["disk full", "still full", ""]);
  });

  test("gives back at once what still comes, and its executor never hears of it", async () => {
    await welcomed();
    executor.sickness = "full";
    executor.report(run(1), fault("full"));
    await settle();
    sendStarts(2, [run(2), run(2, 1)]);
    await clock.pass(limits.reportCoalesceMs);
    expect(executor.started).toEqual([]);
    expect(server.last.events()).toEqual(["1.0.1 ended", "2.0.1 ended", "2.1.1 ended"]);
    server.last.send({ case: "ack", value: { seq: 2 } });
    executor.sickness = undefined;
    await clock.pass(10 * limits.probeDelayMsMin);
    sendStarts(3, [run(3)]);
    await settle();
    expect(executor.started.map(({ id }) => id.jobId)).toEqual([3]);
  });

  test("names it in the next hello", async () => {
    await welcomed();
    executor.sickness = "full";
    executor.report(run(1), fault("full"));
    await settle();
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.last.all("hello")[0]?.health?.sickness).toBe("full");
    server.last.welcome();
    expect(health()).toEqual([]);
  });

  test("does not tell servers that do not want to know", async () => {
    startAgent();
    server.last.welcome(false);
    await settle();
    executor.report(run(1), fault("full"));
    await settle();
    expect(health()).toEqual([]);
    expect(server.last.events()).toEqual(["1.0.1 ended"]);
  });
});

describe("hello", () => {
  test("names the agent, what it has and every run it knows; nothing else before Welcome", async () => {
    executor.report(run(1), { kind: "running", startedAtMs: 1 });
    executor.end(run(2, 5, 3));
    startAgent();
    executor.end(run(1));
    await clock.pass(limits.helloTimeoutMs - 1);
    expect(server.last.received.length).toBe(1);
    expect(server.last.all("hello")[0]).toMatchObject({
      node: "n1",
      cluster: "c1",
      agentKey: "k".repeat(32),
      bootId: "boot",
      capacity: { cpu: 4_000 },
      labels: { os: "linux" },
      runs: [wire(run(1)), wire(run(2, 5, 3))],
    });
  });

  test("names what waits in the executor's queue, of an earlier life and of this one", async () => {
    executor.hasQueue = true;
    executor.inQueue.push(run(1));
    await welcomed();
    expect(server.last.all("hello")[0]?.runs).toMatchObject([wire(run(1))]);
    sendStarts(2, [run(2)]);
    await settle();
    executor.report(run(1), { kind: "running", startedAtMs: 1 });
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.last.all("hello")[0]?.runs).toMatchObject([wire(run(1)), wire(run(2))]);
  });

  test("without Welcome in time the agent dials again", async () => {
    startAgent();
    await clock.pass(limits.helloTimeoutMs + limits.reconnectDelayMsMax);
    expect(server.links.length).toBeGreaterThan(1);
    expect(server.links[0]?.isClosed).toBe(true);
  });

  test("while bytes come, Welcome may take long, but not for ever", async () => {
    startAgent();
    for (let atMs = 0; atMs < limits.greetingMsMax; atMs += limits.helloTimeoutMs) {
      expect(server.links.length).toBe(1);
      server.last.bytesSent += 1;
      await clock.pass(limits.helloTimeoutMs);
    }
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.links.length).toBeGreaterThan(1);
  });

  test("after Welcome heartbeats come at the server's interval", async () => {
    await welcomed();
    for (let beat = 0; beat < 3; beat += 1) {
      server.last.send({ case: "heartbeat", value: {} });
      await clock.pass(5_000);
    }
    expect(server.last.all("heartbeat").length).toBe(3);
  });

  test("the server's answer to a heartbeat changes the interval", async () => {
    await welcomed();
    await clock.pass(5_000);
    server.last.send({ case: "heartbeat", value: { intervalMs: 20_000 } });
    await clock.pass(19_999);
    expect(server.last.all("heartbeat").length).toBe(1);
    await clock.pass(1);
    expect(server.last.all("heartbeat").length).toBe(2);
  });

  test("an interval for which the server would give the agent up is shortened", async () => {
    await welcomed();
    server.last.send({ case: "heartbeat", value: { intervalMs: 3_600_000 } });
    await clock.pass(limits.heartbeatIntervalMsMax);
    expect(server.last.all("heartbeat").length).toBe(1);
  });
});

describe("facts of the machine", () => {
  test("an agent that does not look says nothing of it", async () => {
    await welcomed();
    agent.factsChanged();
    expect(server.last.all("hello")[0]?.factsJson).toBe("");
    expect(server.last.all("facts")).toEqual([]);
  });

  test("come with the hello, and again only when they have changed", async () => {
    machineFacts = '{"cores":1}';
    await welcomed();
    agent.factsChanged();
    expect(server.last.all("hello")[0]?.factsJson).toBe('{"cores":1}');
    expect(server.last.all("facts")).toEqual([]);
    machineFacts = '{"cores":2}';
    agent.factsChanged();
    agent.factsChanged();
    expect(server.last.all("facts").map(({ json }) => json)).toEqual(['{"cores":2}']);
  });

  test("what changes between hello and Welcome is told after it, what changes later in the next hello", async () => {
    machineFacts = "1";
    startAgent();
    machineFacts = "2";
    agent.factsChanged();
    expect(server.last.all("facts")).toEqual([]);
    server.last.welcome();
    expect(server.last.all("facts").map(({ json }) => json)).toEqual(["2"]);
    server.last.drop();
    machineFacts = "3";
    agent.factsChanged();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.links.length).toBe(2);
    expect(server.last.all("hello")[0]?.factsJson).toBe("3");
  });
});

describe("work", () => {
  test("starts carry the job's spec and what the work may know of itself", async () => {
    await welcomed();
    sendStarts(17, [run(17)]);
    sendStarts(18, [run(18, 3, 2)], 10);
    expect(executor.started.map(({ env }) => env)).toEqual([
      {
        A: "1",
        BUSBAR_JOB_ID: "17",
        BUSBAR_TASK_ID: "17",
        BUSBAR_ATTEMPT: "1",
        BUSBAR_NODE: "n1",
        BUSBAR_CLUSTER: "c1",
      },
      {
        A: "1",
        BUSBAR_JOB_ID: "18",
        BUSBAR_TASK_ID: "18.3",
        BUSBAR_ATTEMPT: "2",
        BUSBAR_NODE: "n1",
        BUSBAR_CLUSTER: "c1",
        BUSBAR_ARRAY_INDEX: "3",
        BUSBAR_ARRAY_SIZE: "10",
      },
    ]);
    expect(executor.started[0]).toMatchObject({ cwd: undefined, timeLimitMs: undefined });
  });

  test("a spec serves later starts while the job has runs, and is dropped after", async () => {
    await welcomed();
    sendStarts(1, [run(1, 0)], 3);
    server.last.send({ case: "work", value: { starts: [wire(run(1, 1))] } });
    expect(executor.started.length).toBe(2);
    executor.end(run(1, 0));
    executor.end(run(1, 1));
    await clock.pass(10);
    server.last.send({ case: "ack", value: { seq: server.last.all("reports").at(-1)!.seq } });
    server.last.send({ case: "work", value: { starts: [wire(run(1, 2))] } });
    expect(executor.started.length).toBe(2);
    expect(server.last.isClosed).toBe(true);
  });

  test("a spec is kept while a run of its job waits in the executor's queue", async () => {
    executor.hasQueue = true;
    await welcomed();
    sendStarts(1, [run(1, 0), run(1, 1)], 3);
    executor.end(run(1, 0));
    await clock.pass(10);
    server.last.send({ case: "ack", value: { seq: server.last.all("reports").at(-1)!.seq } });
    server.last.send({ case: "work", value: { starts: [wire(run(1, 2))] } });
    expect(server.last.isClosed).toBe(false);
    expect(executor.started.length).toBe(3);
  });

  test("many starts leave the link its turn, and stops overtake them", async () => {
    await welcomed();
    const ids = Array.from({ length: 50 }, (_, index) => run(1, index));
    sendStarts(1, ids, 50);
    server.last.send({ case: "work", value: { stops: [run(1, 0), run(9), run(1, 49)].map(wire) } });
    expect(executor.started.length).toBe(limits.startsPerSliceMax);
    expect(executor.stopped).toEqual([]);
    await clock.pass(0);
    expect(executor.stopped).toEqual([run(1, 0), run(9)]);
    await clock.pass(limits.startReportDelayMs);
    expect(executor.started.map(({ id }) => id)).toEqual(ids.slice(0, 49));
    const events = server.last.all("reports").flatMap((reports) => reports.events);
    const ends = events.filter(({ event }) => event.case === "ended");
    expect(ends.map(({ id, event }) => [id?.index, event.value])).toMatchObject([
      [49, { cause: EndCause.STOPPED, startedAtMs: 0 }],
    ]);
  });

  test("a withdrawn start gives its job's spec back when its end is acknowledged", async () => {
    await welcomed();
    const ids = Array.from({ length: 40 }, (_, index) => run(1, index));
    sendStarts(1, ids, 40);
    server.last.send({ case: "work", value: { stops: ids.slice(16).map(wire) } });
    await clock.pass(limits.startReportDelayMs);
    expect(executor.started.length).toBe(16);
    for (const { id } of executor.started) executor.end(id);
    await clock.pass(10);
    server.last.send({ case: "ack", value: { seq: server.last.all("reports").at(-1)!.seq } });
    server.last.send({ case: "work", value: { starts: [wire(run(1, 50))] } });
    expect(server.last.isClosed).toBe(true); // it must bring its spec
  });

  test("a start that comes twice begins once", async () => {
    await welcomed();
    const ids = Array.from({ length: 20 }, (_, index) => run(1, index));
    sendStarts(1, [...ids, run(1, 19)], 20);
    server.last.send({ case: "work", value: { starts: [wire(run(1, 19))] } });
    await clock.pass(1);
    expect(executor.started.length).toBe(20);
  });

  test("work still queued when the link is lost is not started", async () => {
    await welcomed();
    sendStarts(
      1,
      Array.from({ length: 50 }, (_, index) => run(1, index)),
      50,
    );
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(executor.started.length).toBe(limits.startsPerSliceMax);
    expect(server.last.all("hello")[0]?.runs.length).toBe(limits.startsPerSliceMax);
  });

  test("a start of a run that has ended reports its end again", async () => {
    executor.end(run(1), 7);
    await welcomed();
    sendStarts(1, [run(1)]);
    await clock.pass(10);
    expect(executor.started).toEqual([]);
    expect(server.last.events()).toEqual(["1.0.1 ended", "1.0.1 ended"]);
  });
});

describe("reports", () => {
  test("the first end goes at once, with all that happened in one go", async () => {
    await welcomed();
    executor.end(run(1, 0));
    executor.end(run(1, 1));
    await settle();
    const [reports] = server.last.all("reports");
    expect(reports?.seq).toBe(1);
    expect(server.last.events()).toEqual(["1.0.1 ended", "1.1.1 ended"]);
  });

  test("a start waits for its end a little, and then goes alone", async () => {
    await welcomed();
    sendStarts(1, [run(1, 0), run(1, 1)], 2);
    executor.end(run(1, 1));
    await clock.pass(limits.startReportDelayMs - 1);
    expect(server.last.events()).toEqual(["1.1.1 ended"]);
    server.last.send({ case: "ack", value: { seq: 1 } });
    await clock.pass(1);
    await settle();
    expect(server.last.events()).toEqual(["1.1.1 ended", "1.0.1 started"]);
  });

  test("a run that ended before it was reported sends its end alone, with its start", async () => {
    await welcomed();
    sendStarts(1, [run(1)]);
    executor.end(run(1), 3);
    await settle();
    expect(server.last.events()).toEqual(["1.0.1 ended"]);
    expect(server.last.all("reports")[0]?.events[0]?.event.value).toMatchObject({
      startedAtMs: clock.nowMs(), // not before it was handed over
      endedAtMs: clock.nowMs(),
      exitCode: 3,
    });
  });

  test("while a batch is on its way the next ones are collected", async () => {
    await welcomed();
    executor.end(run(1));
    await settle();
    for (let index = 0; index < 10; index += 1) executor.end(run(2, index));
    await settle();
    expect(server.last.all("reports").length).toBe(1);
    await clock.pass(limits.reportCoalesceMs);
    expect(server.last.all("reports").map(({ seq, events }) => [seq, events.length])).toEqual([
      [1, 1],
      [2, 10],
    ]);
    executor.end(run(3));
    server.last.send({ case: "ack", value: { seq: 2 } });
    await settle();
    expect(server.last.all("reports").length).toBe(3);
  });

  test("a run is forgotten when its end was acknowledged, not before", async () => {
    await welcomed();
    sendStarts(1, [run(1)]);
    await clock.pass(limits.startReportDelayMs);
    executor.end(run(1));
    await clock.pass(10);
    expect(executor.forgotten).toEqual([]);
    server.last.send({ case: "ack", value: { seq: 1 } });
    expect(executor.forgotten).toEqual([]);
    server.last.send({ case: "ack", value: { seq: 2 } });
    expect(executor.forgotten).toEqual(["1.0.1"]);
  });

  test("batches on their way and events in a batch are bounded", async () => {
    await welcomed();
    for (let index = 0; index < limits.unacknowledgedReportsMax + 20; index += 1) {
      executor.end(run(1, index));
      await clock.pass(limits.reportCoalesceMs);
    }
    expect(server.last.all("reports").length).toBe(limits.unacknowledgedReportsMax);
    for (let index = 0; index <= limits.reportEventsPerMessageMax; index += 1) {
      executor.end(run(2, index));
    }
    server.last.send({ case: "ack", value: { seq: limits.unacknowledgedReportsMax } });
    await clock.pass(10);
    const sizes = server.last.all("reports").map(({ events }) => events.length);
    expect(Math.max(...sizes)).toBe(limits.reportEventsPerMessageMax);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(
      limits.unacknowledgedReportsMax + 20 + limits.reportEventsPerMessageMax + 1,
    );
  });

  test("after a lost link all that is running or unacknowledged is told again, from seq 1", async () => {
    await welcomed();
    sendStarts(1, [run(1, 0), run(1, 1), run(1, 2)], 3);
    await clock.pass(limits.startReportDelayMs);
    executor.end(run(1, 0));
    executor.end(run(1, 1));
    await clock.pass(10);
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    executor.end(run(4));
    server.last.welcome();
    await clock.pass(limits.startReportDelayMs + limits.reportCoalesceMs);
    expect(server.last.all("reports")[0]?.seq).toBe(1);
    expect(server.last.events().toSorted()).toEqual([
      "1.0.1 ended",
      "1.1.1 ended",
      "1.2.1 started",
      "4.0.1 ended",
    ]);
    server.last.send({ case: "ack", value: { seq: 1 } });
    expect(executor.forgotten.toSorted()).toEqual(["1.0.1", "1.1.1", "4.0.1"]);
  });
});

describe("output", () => {
  const request = (over: object = {}) => ({
    request: 5,
    id: wire(run(1)),
    stream: OutputStream.STDERR,
    offset: 3,
    maxBytes: 10,
    waitMs: 0,
    ...over,
  });

  test("is read and sent; what fails is answered with its reason", async () => {
    await welcomed();
    executor.read = (_id, { offset }) =>
      Promise.resolve({ data: new Uint8Array([offset]), eof: true, truncated: false });
    server.last.send({ case: "output", value: request() });
    server.last.send({ case: "output", value: request({ request: 6, offset: -1 }) });
    server.last.send({ case: "output", value: request({ request: 7, stream: 9 }) });
    await settle();
    const chunks = server.last.all("output").toSorted((a, b) => a.request - b.request);
    expect(chunks.map(({ request, error, eof }) => [request, error, eof])).toEqual([
      [5, "", true],
      [6, "offset: must be from 0", false],
      [7, "stream: must be stdout or stderr", false],
    ]);
    expect([...chunks[0]!.data]).toEqual([3]);
  });

  test("requests at once are bounded, and a late answer to a lost link goes nowhere", async () => {
    await welcomed();
    const resolvers: ((part: OutputPart) => void)[] = [];
    executor.read = () => new Promise((resolve) => resolvers.push(resolve));
    for (let count = 0; count <= limits.outputRequestsPerSessionMax; count += 1) {
      server.last.send({ case: "output", value: request({ request: count }) });
    }
    await settle();
    expect(resolvers.length).toBe(limits.outputRequestsPerSessionMax);
    expect(server.last.all("output").map(({ error }) => error)).toEqual([
      "too many requests for output at once",
    ]);
    const [first] = server.links;
    first?.drop();
    for (const resolve of resolvers) {
      resolve({ data: new Uint8Array(), eof: true, truncated: false });
    }
    await settle();
    expect(first?.all("output").length).toBe(1);
  });
});

describe("the end of a session", () => {
  test("a final Goodbye ends the agent with the server's reason", async () => {
    startAgent();
    server.last.send({ case: "goodbye", value: { reason: "the name is taken", retry: false } });
    expect(await result).toMatchObject({
      code: "permission_denied",
      message: "the server refused this agent: the name is taken",
    });
    expect(server.links.length).toBe(1);
  });

  test("a Goodbye with retry, and a lost link, are followed by another dial", async () => {
    await welcomed();
    server.last.send({ case: "goodbye", value: { reason: "restarting", retry: true } });
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.links.length).toBe(2);
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMax);
    expect(server.links.length).toBe(3);
  });

  test("silence of the server ends it; heartbeats keep it", async () => {
    await welcomed();
    for (let beat = 0; beat < 10; beat += 1) {
      await clock.pass(silenceMsMax(limits.heartbeatIntervalMs) - 1);
      server.last.send({ case: "heartbeat", value: {} });
    }
    expect(server.links.length).toBe(1);
    await clock.pass(silenceMsMax(limits.heartbeatIntervalMs) + limits.reconnectDelayMsMax);
    expect(server.links[0]?.isClosed).toBe(true);
    expect(server.links.length).toBeGreaterThan(1);
  });

  test("with a longer interval the server may be silent for longer", async () => {
    await welcomed();
    server.last.send({ case: "heartbeat", value: { intervalMs: 20_000 } });
    await clock.pass(silenceMsMax(20_000) - 1);
    expect(server.links.length).toBe(1);
    await clock.pass(1 + limits.reconnectDelayMsMax);
    expect(server.links[0]?.isClosed).toBe(true);
  });

  test("delays double to a maximum, and start again after a Welcome", async () => {
    const half = (failures: number) => reconnectDelayMs(failures, { ...random, fraction: () => 0 });
    expect([0, 1, 2, 3, 50].map(half)).toEqual([200, 400, 800, 1_600, 5_000]);
    startAgent();
    for (let count = 0; count < 20; count += 1) {
      server.last.drop();
      await clock.pass(limits.reconnectDelayMsMax);
    }
    expect(server.links.length).toBe(21);
    server.last.welcome();
    server.last.drop();
    await clock.pass(limits.reconnectDelayMsMin * 2);
    expect(server.links.length).toBe(22);
  });

  test("an abort ends it between sessions too, and leaves the executor alone", async () => {
    await welcomed();
    server.last.drop();
    await settle();
    controller.abort();
    expect(await result).toBe("stopped");
  });

  const nonsense = [
    { name: "work before Welcome", welcome: false, message: { case: "work", value: {} } },
    { name: "a second Welcome", welcome: true, message: { case: "welcome", value: {} } },
    { name: "an Ack never earned", welcome: true, message: { case: "ack", value: { seq: 9 } } },
    {
      name: "a start without its spec",
      welcome: true,
      message: { case: "work", value: { starts: [wire(run(1))] } },
    },
    {
      name: "a stop of no run",
      welcome: true,
      message: { case: "work", value: { stops: [{ job: 0, index: 0, attempt: 0 }] } },
    },
  ] as const;
  for (const { name, welcome, message } of nonsense) {
    test(`${name} ends the session, not the agent`, async () => {
      startAgent();
      if (welcome) server.last.welcome();
      server.last.deliver(create(ServerMessageSchema, { message } as never));
      expect(server.last.isClosed).toBe(true);
      await clock.pass(limits.reconnectDelayMsMax);
      expect(server.links.length).toBe(2);
    });
  }

  test("a message of a kind we do not know is passed over", async () => {
    await welcomed();
    server.last.deliver(create(ServerMessageSchema));
    expect(server.last.isClosed).toBe(false);
  });
});
