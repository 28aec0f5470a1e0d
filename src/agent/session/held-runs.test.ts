import { beforeEach, describe, expect, test } from "vitest";
import { settle } from "../../testing/fake-clock.ts";
import { limits } from "../../limits.ts";
import { run, useAgentBed, wire } from "../testing/agent-bed.ts";

const bed = useAgentBed();
beforeEach(async () => await bed.welcomed({ capacity: { cpu: 1_000 }, canHold: true }));

const spec = (job: number, cpu: number) => ({ job, argv: ["true"], needs: { cpu }, arraySize: 9 });

/** One run of job 1 starts, and two more are held. */
function startAndHold(): void {
  const holds = [1, 2].map((index) => ({ id: wire(run(1, index)), heldAtMs: 70 + index }));
  const value = { specs: [spec(1, 1_000)], starts: [wire(run(1, 0))], holds };
  bed.server.last.send({ case: "work", value });
}

const begun = () => bed.executor.started.map(({ id }) => `${id.jobId}.${id.index}`);
const reports = () => bed.server.last.all("reports").flatMap(({ events }) => events);

test("an agent announces that it can hold runs", () => {
  expect(bed.server.last.all("hello")[0]?.canHold).toBe(true);
});

test("a held run begins when a run with equal requests ends, and one report has both", async () => {
  startAndHold();
  expect(begun()).toEqual(["1.0"]);
  bed.executor.end(run(1, 0));
  expect(begun()).toEqual(["1.0", "1.1"]);
  await bed.clock.pass(limits.reportOfReplacedMs);
  const [first] = reports();
  expect(first?.event).toMatchObject({ case: "ended", value: { began: wire(run(1, 1)) } });
});

test("a run with other requests frees no slot for it", () => {
  startAndHold();
  bed.server.last.send({
    case: "work",
    value: { specs: [spec(2, 500)], starts: [wire(run(2, 0))] },
  });
  bed.executor.end(run(2, 0));
  expect(begun()).toEqual(["1.0", "2.0"]);
});

test("nor does a run that was stopped, could not start, or belongs to an earlier session", async () => {
  startAndHold();
  const end = { kind: "stopped", signal: "SIGTERM" } as const;
  bed.executor.report(run(1, 0), { kind: "ended", startedAtMs: 1, endedAtMs: 2, end });
  expect(begun()).toEqual(["1.0"]);
  bed.server.last.send({ case: "work", value: { starts: [wire(run(1, 3))] } });
  bed.server.last.drop();
  await settle();
  await bed.clock.pass(60_000);
  bed.server.last.welcome();
  const holds = [{ id: wire(run(1, 4)), heldAtMs: 80 }];
  bed.server.last.send({ case: "work", value: { specs: [spec(1, 1_000)], holds } });
  bed.executor.end(run(1, 3));
  expect(begun()).toEqual(["1.0", "1.3"]);
});

test("a held run that the server takes back never begins; one that has begun is not returned", async () => {
  startAndHold();
  bed.executor.end(run(1, 0));
  bed.server.last.send({ case: "work", value: { returns: [run(1, 1), run(1, 2)].map(wire) } });
  bed.executor.end(run(1, 1));
  expect(begun()).toEqual(["1.0", "1.1"]);
  await bed.clock.pass(5);
  const given = reports().filter(({ event }) => event.case === "returned");
  expect(given).toMatchObject([{ id: wire(run(1, 2)), event: { value: { heldAtMs: 72 } } }]);
});

test("after a lost link Hello names runs that have begun, not held runs", async () => {
  startAndHold();
  bed.executor.end(run(1, 0));
  bed.server.last.drop();
  await settle();
  await bed.clock.pass(60_000);
  const named = bed.server.last.all("hello")[0]?.runs.map(({ job, index }) => `${job}.${index}`);
  expect(named).toEqual(["1.0", "1.1"]);
});

test("an unhealthy agent begins no held run", () => {
  startAndHold();
  bed.executor.sickness = "disk full";
  bed.server.last.send({
    case: "work",
    value: { specs: [spec(2, 500)], starts: [wire(run(2, 0))] },
  });
  const end = { kind: "node-fault", message: "disk full" } as const;
  bed.executor.report(run(2, 0), { kind: "ended", startedAtMs: undefined, endedAtMs: 2, end });
  bed.executor.end(run(1, 0));
  expect(begun()).toEqual(["1.0", "2.0"]);
});

describe("an executor that begins held runs itself", () => {
  const held: string[] = [];
  let isUnbegun = Promise.withResolvers<boolean>();
  let next: ReturnType<typeof run> | undefined;
  beforeEach(() => {
    held.length = 0;
    next = undefined;
    isUnbegun = Promise.withResolvers();
    bed.executor.ahead = {
      hold: ({ id }) => held.push(`${id.jobId}.${id.index}`),
      next: () => next,
      release: () => isUnbegun.promise,
    };
  });
  /** In the next session, which knows this executor's ability. */
  beforeEach(async () => {
    bed.server.last.drop();
    await settle();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    bed.server.last.welcome();
    startAndHold();
  });

  test("has them, and reports which one begins in the slot of another", async () => {
    expect(held).toEqual(["1.1", "1.2"]);
    next = run(1, 2);
    bed.executor.end(run(1, 0));
    expect(begun()).toEqual(["1.0", "1.2"]);
    next = run(1, 0); // the server knows of this one: nothing else begins
    bed.executor.end(run(1, 2));
    expect(begun()).toEqual(["1.0", "1.2"]);
    await bed.clock.pass(limits.reportOfReplacedMs);
    const [first] = reports();
    expect(first?.event).toMatchObject({ case: "ended", value: { began: wire(run(1, 2)) } });
  });

  test("returns one only when it never begins", async () => {
    const given = () => reports().filter(({ event }) => event.case === "returned");
    bed.server.last.send({ case: "work", value: { returns: [wire(run(1, 1))] } });
    await bed.clock.pass(5);
    expect(given()).toEqual([]);
    isUnbegun.resolve(true);
    await settle();
    await bed.clock.pass(5);
    expect(given()).toMatchObject([{ id: wire(run(1, 1)), event: { value: { heldAtMs: 71 } } }]);
  });

  test("reports one that has begun, which is not returned, and frees a slot for others", async () => {
    bed.server.last.send({ case: "work", value: { returns: [wire(run(1, 1))] } });
    bed.executor.report(run(1, 1), { kind: "running", startedAtMs: 1 });
    isUnbegun.resolve(false);
    await settle();
    await bed.clock.pass(limits.startReportDelayMs);
    const told = reports().map(({ id, event }) => `${id?.index} ${event.case}`);
    expect(told).toContain("1 started");
    expect(told).not.toContain("1 returned");
    bed.executor.end(run(1, 1));
    expect(begun()).toEqual(["1.0", "1.2"]);
  });

  test("gets the stop of one that has begun", async () => {
    bed.server.last.send({ case: "work", value: { stops: [wire(run(1, 1))] } });
    isUnbegun.resolve(false);
    await settle();
    expect(bed.executor.stopped).toEqual([run(1, 1)]);
  });
});
