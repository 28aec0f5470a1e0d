import { describe, expect, test } from "vitest";
import { EndCause, OutputStream } from "../gen/busbar/v1/agent_pb.ts";
import { limits } from "../limits.ts";
import type { OutputPart } from "../ports/executor.ts";
import { settle } from "../testing/fake-clock.ts";
import { run, useAgentBed, wire } from "./testing/agent-bed.ts";

const bed = useAgentBed();

describe("an agent that cannot start anything", () => {
  const fault = (message: string) =>
    ({
      kind: "ended",
      startedAtMs: undefined,
      endedAtMs: 2,
      end: { kind: "node-fault", message },
    }) as const;
  const health = () => bed.server.last.all("health").map(({ sickness }) => sickness);

  test("reports that before it returns the task, and reports again when its probe succeeded", async () => {
    await bed.welcomed();
    bed.executor.sickness = "still full";
    bed.sendStarts(1, [run(1)]);
    await bed.clock.pass(limits.startReportDelayMs);
    bed.executor.report(run(1), fault("disk full"));
    await bed.clock.pass(limits.reportCoalesceMs);
    const kinds = bed.server.last.received.map((message) => message.case);
    expect(kinds.slice(0, 3)).toEqual(["hello", "reports", "health"]);
    expect(kinds.lastIndexOf("reports")).toBeGreaterThan(2);
    const [ended] = bed.server.last.all("reports").at(-1)?.events ?? [];
    expect(ended?.event.value).toMatchObject({ isNodeFault: true, message: "disk full" });
    bed.executor.sickness = undefined;
    await bed.clock.pass(2 * limits.probeDelayMsMin);
    expect(health()).toEqual(["disk full", "still full", ""]);
  });

  test("returns later starts at once; its executor never receives them", async () => {
    await bed.welcomed();
    bed.executor.sickness = "full";
    bed.executor.report(run(1), fault("full"));
    await settle();
    bed.sendStarts(2, [run(2), run(2, 1)]);
    await bed.clock.pass(limits.reportCoalesceMs);
    expect(bed.executor.started).toEqual([]);
    expect(bed.server.last.events()).toEqual(["1.0.1 ended", "2.0.1 ended", "2.1.1 ended"]);
    bed.server.last.send({ case: "ack", value: { seq: 2 } });
    bed.executor.sickness = undefined;
    await bed.clock.pass(10 * limits.probeDelayMsMin);
    bed.sendStarts(3, [run(3)]);
    await settle();
    expect(bed.executor.started.map(({ id }) => id.jobId)).toEqual([3]);
  });

  test("includes it in the next Hello", async () => {
    await bed.welcomed();
    bed.executor.sickness = "full";
    bed.executor.report(run(1), fault("full"));
    await settle();
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.last.all("hello")[0]?.health?.sickness).toBe("full");
    bed.server.last.welcome();
    expect(health()).toEqual([]);
  });

  test("sends no health to servers that do not ask for it", async () => {
    bed.start();
    bed.server.last.welcome(false);
    await settle();
    bed.executor.report(run(1), fault("full"));
    await settle();
    expect(health()).toEqual([]);
    expect(bed.server.last.events()).toEqual(["1.0.1 ended"]);
  });
});

describe("work", () => {
  test("the start carries the job's spec and the variables that describe the run to its work", async () => {
    await bed.welcomed();
    bed.sendStarts(17, [run(17)]);
    bed.sendStarts(18, [run(18, 3, 2)], 10);
    expect(bed.executor.started.map(({ env }) => env)).toEqual([
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
    expect(bed.executor.started[0]).toMatchObject({ cwd: undefined, timeLimitMs: undefined });
  });

  test("the agent uses a spec for later starts while the job has runs, and drops it afterwards", async () => {
    await bed.welcomed();
    bed.sendStarts(1, [run(1, 0)], 3);
    bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 1))] } });
    expect(bed.executor.started.length).toBe(2);
    bed.executor.end(run(1, 0));
    bed.executor.end(run(1, 1));
    await bed.clock.pass(10);
    bed.server.last.send({
      case: "ack",
      value: { seq: bed.server.last.all("reports").at(-1)!.seq },
    });
    bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 2))] } });
    expect(bed.executor.started.length).toBe(2);
    expect(bed.server.last.isClosed).toBe(true);
  });

  test("the agent retains a spec while a run of its job is in the executor's queue", async () => {
    bed.executor.hasQueue = true;
    await bed.welcomed();
    bed.sendStarts(1, [run(1, 0), run(1, 1)], 3);
    bed.executor.end(run(1, 0));
    await bed.clock.pass(10);
    bed.server.last.send({
      case: "ack",
      value: { seq: bed.server.last.all("reports").at(-1)!.seq },
    });
    bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 2))] } });
    expect(bed.server.last.isClosed).toBe(false);
    expect(bed.executor.started.length).toBe(3);
  });

  test("between many starts the agent reads the link, and stops overtake starts", async () => {
    await bed.welcomed();
    const ids = Array.from({ length: 50 }, (_, index) => run(1, index));
    bed.sendStarts(1, ids, 50);
    bed.server.last.send({
      case: "work",
      value: { stops: [run(1, 0), run(9), run(1, 49)].map(wire) },
    });
    expect(bed.executor.started.length).toBe(limits.startsPerSliceMax);
    expect(bed.executor.stopped).toEqual([]);
    await bed.clock.pass(0);
    expect(bed.executor.stopped).toEqual([run(1, 0), run(9)]);
    await bed.clock.pass(limits.startReportDelayMs);
    expect(bed.executor.started.map(({ id }) => id)).toEqual(ids.slice(0, 49));
    const events = bed.server.last.all("reports").flatMap((reports) => reports.events);
    const ends = events.filter(({ event }) => event.case === "ended");
    expect(ends.map(({ id, event }) => [id?.index, event.value])).toMatchObject([
      [49, { cause: EndCause.STOPPED, startedAtMs: 0 }],
    ]);
  });

  test("the end of a withdrawn start releases the job's spec when the server acknowledges it", async () => {
    await bed.welcomed();
    const ids = Array.from({ length: 40 }, (_, index) => run(1, index));
    bed.sendStarts(1, ids, 40);
    bed.server.last.send({ case: "work", value: { stops: ids.slice(16).map(wire) } });
    await bed.clock.pass(limits.startReportDelayMs);
    expect(bed.executor.started.length).toBe(16);
    for (const { id } of bed.executor.started) bed.executor.end(id);
    await bed.clock.pass(10);
    bed.server.last.send({
      case: "ack",
      value: { seq: bed.server.last.all("reports").at(-1)!.seq },
    });
    bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 50))] } });
    expect(bed.server.last.isClosed).toBe(true); // the next start must bring its spec
  });

  test("a repeated start begins the run once", async () => {
    await bed.welcomed();
    const ids = Array.from({ length: 20 }, (_, index) => run(1, index));
    bed.sendStarts(1, [...ids, run(1, 19)], 20);
    bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 19))] } });
    await bed.clock.pass(1);
    expect(bed.executor.started.length).toBe(20);
  });

  test("runs still queued when the link is lost are not started", async () => {
    await bed.welcomed();
    bed.sendStarts(
      1,
      Array.from({ length: 50 }, (_, index) => run(1, index)),
      50,
    );
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.executor.started.length).toBe(limits.startsPerSliceMax);
    expect(bed.server.last.all("hello")[0]?.runs.length).toBe(limits.startsPerSliceMax);
  });

  test("a start of a run that has ended reports its end again", async () => {
    bed.executor.end(run(1), 7);
    await bed.welcomed();
    bed.sendStarts(1, [run(1)]);
    await bed.clock.pass(10);
    expect(bed.executor.started).toEqual([]);
    expect(bed.server.last.events()).toEqual(["1.0.1 ended", "1.0.1 ended"]);
  });
});

describe("reports", () => {
  test("the first end goes at once, with all events of the same turn", async () => {
    await bed.welcomed();
    bed.executor.end(run(1, 0));
    bed.executor.end(run(1, 1));
    await settle();
    const [reports] = bed.server.last.all("reports");
    expect(reports?.seq).toBe(1);
    expect(bed.server.last.events()).toEqual(["1.0.1 ended", "1.1.1 ended"]);
  });

  test("a start waits a little for its end, and then goes alone", async () => {
    await bed.welcomed();
    bed.sendStarts(1, [run(1, 0), run(1, 1)], 2);
    bed.executor.end(run(1, 1));
    await bed.clock.pass(limits.startReportDelayMs - 1);
    expect(bed.server.last.events()).toEqual(["1.1.1 ended"]);
    bed.server.last.send({ case: "ack", value: { seq: 1 } });
    await bed.clock.pass(1);
    await settle();
    expect(bed.server.last.events()).toEqual(["1.1.1 ended", "1.0.1 started"]);
  });

  test("a run that ended before it was reported sends only its end, which includes its start", async () => {
    await bed.welcomed();
    bed.sendStarts(1, [run(1)]);
    bed.executor.end(run(1), 3);
    await settle();
    expect(bed.server.last.events()).toEqual(["1.0.1 ended"]);
    expect(bed.server.last.all("reports")[0]?.events[0]?.event.value).toMatchObject({
      startedAtMs: bed.clock.nowMs(), // not before the executor received the run
      endedAtMs: bed.clock.nowMs(),
      exitCode: 3,
    });
  });

  test("while a batch is on its way the agent collects the next events", async () => {
    await bed.welcomed();
    bed.executor.end(run(1));
    await settle();
    for (let index = 0; index < 10; index += 1) bed.executor.end(run(2, index));
    await settle();
    expect(bed.server.last.all("reports").length).toBe(1);
    await bed.clock.pass(limits.reportCoalesceMs);
    expect(bed.server.last.all("reports").map(({ seq, events }) => [seq, events.length])).toEqual([
      [1, 1],
      [2, 10],
    ]);
    bed.executor.end(run(3));
    bed.server.last.send({ case: "ack", value: { seq: 2 } });
    await settle();
    expect(bed.server.last.all("reports").length).toBe(3);
  });

  test("the agent drops a run when the server has acknowledged its end, not before", async () => {
    await bed.welcomed();
    bed.sendStarts(1, [run(1)]);
    await bed.clock.pass(limits.startReportDelayMs);
    bed.executor.end(run(1));
    await bed.clock.pass(10);
    expect(bed.executor.forgotten).toEqual([]);
    bed.server.last.send({ case: "ack", value: { seq: 1 } });
    expect(bed.executor.forgotten).toEqual([]);
    bed.server.last.send({ case: "ack", value: { seq: 2 } });
    expect(bed.executor.forgotten).toEqual(["1.0.1"]);
  });

  test("the number of batches on their way and of events in a batch is bounded", async () => {
    await bed.welcomed();
    for (let index = 0; index < limits.unacknowledgedReportsMax + 20; index += 1) {
      bed.executor.end(run(1, index));
      await bed.clock.pass(limits.reportCoalesceMs);
    }
    expect(bed.server.last.all("reports").length).toBe(limits.unacknowledgedReportsMax);
    for (let index = 0; index <= limits.reportEventsPerMessageMax; index += 1) {
      bed.executor.end(run(2, index));
    }
    bed.server.last.send({ case: "ack", value: { seq: limits.unacknowledgedReportsMax } });
    await bed.clock.pass(10);
    const sizes = bed.server.last.all("reports").map(({ events }) => events.length);
    expect(Math.max(...sizes)).toBe(limits.reportEventsPerMessageMax);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(
      limits.unacknowledgedReportsMax + 20 + limits.reportEventsPerMessageMax + 1,
    );
  });

  test("after a lost link the agent reports all running and unacknowledged runs again, from seq 1", async () => {
    await bed.welcomed();
    bed.sendStarts(1, [run(1, 0), run(1, 1), run(1, 2)], 3);
    await bed.clock.pass(limits.startReportDelayMs);
    bed.executor.end(run(1, 0));
    bed.executor.end(run(1, 1));
    await bed.clock.pass(10);
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    bed.executor.end(run(4));
    bed.server.last.welcome();
    await bed.clock.pass(limits.startReportDelayMs + limits.reportCoalesceMs);
    expect(bed.server.last.all("reports")[0]?.seq).toBe(1);
    expect(bed.server.last.events().toSorted()).toEqual([
      "1.0.1 ended",
      "1.1.1 ended",
      "1.2.1 started",
      "4.0.1 ended",
    ]);
    bed.server.last.send({ case: "ack", value: { seq: 1 } });
    expect(bed.executor.forgotten.toSorted()).toEqual(["1.0.1", "1.1.1", "4.0.1"]);
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

  test("the agent reads output and sends it, and answers a failed request with the reason", async () => {
    await bed.welcomed();
    bed.executor.read = (_id, { offset }) =>
      Promise.resolve({ data: new Uint8Array([offset]), eof: true, truncated: false });
    bed.server.last.send({ case: "output", value: request() });
    bed.server.last.send({ case: "output", value: request({ request: 6, offset: -1 }) });
    bed.server.last.send({ case: "output", value: request({ request: 7, stream: 9 }) });
    await settle();
    const chunks = bed.server.last.all("output").toSorted((a, b) => a.request - b.request);
    expect(chunks.map(({ request, error, eof }) => [request, error, eof])).toEqual([
      [5, "", true],
      [6, "offset: must be from 0", false],
      [7, "stream: must be stdout or stderr", false],
    ]);
    expect([...chunks[0]!.data]).toEqual([3]);
  });

  test("the number of requests at once is bounded, and an answer after a lost link is dropped", async () => {
    await bed.welcomed();
    const resolvers: ((part: OutputPart) => void)[] = [];
    bed.executor.read = () => new Promise((resolve) => resolvers.push(resolve));
    for (let count = 0; count <= limits.outputRequestsPerSessionMax; count += 1) {
      bed.server.last.send({ case: "output", value: request({ request: count }) });
    }
    await settle();
    expect(resolvers.length).toBe(limits.outputRequestsPerSessionMax);
    expect(bed.server.last.all("output").map(({ error }) => error)).toEqual([
      "too many requests for output at once",
    ]);
    const [first] = bed.server.links;
    first?.drop();
    for (const resolve of resolvers) {
      resolve({ data: new Uint8Array(), eof: true, truncated: false });
    }
    await settle();
    expect(first?.all("output").length).toBe(1);
  });
});
