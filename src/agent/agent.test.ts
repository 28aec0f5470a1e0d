import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ServerMessageSchema } from "../gen/busbar/v1/agent_pb.ts";
import { silenceMsMax } from "../core/model/node/heartbeat.ts";
import { limits } from "../limits.ts";
import { reconnectDelayMs } from "./agent.ts";
import { settle } from "../testing/fake-clock.ts";
import { random, run, useAgentBed, wire } from "./testing/agent-bed.ts";

const bed = useAgentBed();

describe("hello", () => {
  test("names the agent, its capacity and every known run; nothing else goes before Welcome", async () => {
    bed.executor.report(run(1), { kind: "running", startedAtMs: 1 });
    bed.executor.end(run(2, 5, 3));
    bed.start();
    bed.executor.end(run(1));
    await bed.clock.pass(limits.helloTimeoutMs - 1);
    expect(bed.server.last.received.length).toBe(1);
    expect(bed.server.last.all("hello")[0]).toMatchObject({
      node: "n1",
      cluster: "c1",
      agentKey: "k".repeat(32),
      bootId: "boot",
      capacity: { cpu: 4_000 },
      labels: { os: "linux" },
      runs: [wire(run(1)), wire(run(2, 5, 3))],
    });
  });

  test("names queued runs of the executor, from an earlier process and from this one", async () => {
    bed.executor.hasQueue = true;
    bed.executor.inQueue.push(run(1));
    await bed.welcomed();
    expect(bed.server.last.all("hello")[0]?.runs).toMatchObject([wire(run(1))]);
    bed.sendStarts(2, [run(2)]);
    await settle();
    bed.executor.report(run(1), { kind: "running", startedAtMs: 1 });
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.last.all("hello")[0]?.runs).toMatchObject([wire(run(1)), wire(run(2))]);
  });

  test("without Welcome in time the agent connects again", async () => {
    bed.start();
    await bed.clock.pass(limits.helloTimeoutMs + limits.reconnectDelayMsMax);
    expect(bed.server.links.length).toBeGreaterThan(1);
    expect(bed.server.links[0]?.isClosed).toBe(true);
  });

  test("while bytes arrive, Welcome may take long, but not for ever", async () => {
    bed.start();
    for (let atMs = 0; atMs < limits.greetingMsMax; atMs += limits.helloTimeoutMs) {
      expect(bed.server.links.length).toBe(1);
      bed.server.last.bytesSent += 1;
      await bed.clock.pass(limits.helloTimeoutMs);
    }
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.links.length).toBeGreaterThan(1);
  });

  test("after Welcome the agent sends heartbeats at the server's interval", async () => {
    await bed.welcomed();
    for (let beat = 0; beat < 3; beat += 1) {
      bed.server.last.send({ case: "heartbeat", value: {} });
      await bed.clock.pass(5_000);
    }
    expect(bed.server.last.all("heartbeat").length).toBe(3);
  });

  test("the server's answer to a heartbeat changes the interval", async () => {
    await bed.welcomed();
    await bed.clock.pass(5_000);
    bed.server.last.send({ case: "heartbeat", value: { intervalMs: 20_000 } });
    await bed.clock.pass(19_999);
    expect(bed.server.last.all("heartbeat").length).toBe(1);
    await bed.clock.pass(1);
    expect(bed.server.last.all("heartbeat").length).toBe(2);
  });

  test("the agent shortens an interval at which the server would give it up", async () => {
    await bed.welcomed();
    bed.server.last.send({ case: "heartbeat", value: { intervalMs: 3_600_000 } });
    await bed.clock.pass(limits.heartbeatIntervalMsMax);
    expect(bed.server.last.all("heartbeat").length).toBe(1);
  });
});

describe("facts of the machine", () => {
  test("an agent without discovery sends none", async () => {
    await bed.welcomed();
    bed.agent.factsChanged();
    expect(bed.server.last.all("hello")[0]?.factsJson).toBe("");
    expect(bed.server.last.all("facts")).toEqual([]);
  });

  test("the agent sends them with Hello, and again only when they have changed", async () => {
    let machineFacts = '{"cores":1}';
    await bed.welcomed({ machineFacts: () => machineFacts });
    bed.agent.factsChanged();
    expect(bed.server.last.all("hello")[0]?.factsJson).toBe('{"cores":1}');
    expect(bed.server.last.all("facts")).toEqual([]);
    machineFacts = '{"cores":2}';
    bed.agent.factsChanged();
    bed.agent.factsChanged();
    expect(bed.server.last.all("facts").map(({ json }) => json)).toEqual(['{"cores":2}']);
  });

  test("the agent sends a change between Hello and Welcome after Welcome, a later one in the next Hello", async () => {
    let machineFacts = "1";
    bed.start({ machineFacts: () => machineFacts });
    machineFacts = "2";
    bed.agent.factsChanged();
    expect(bed.server.last.all("facts")).toEqual([]);
    bed.server.last.welcome();
    expect(bed.server.last.all("facts").map(({ json }) => json)).toEqual(["2"]);
    bed.server.last.drop();
    machineFacts = "3";
    bed.agent.factsChanged();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.links.length).toBe(2);
    expect(bed.server.last.all("hello")[0]?.factsJson).toBe("3");
  });
});

describe("the end of a session", () => {
  test("a final Goodbye ends the agent with the server's reason", async () => {
    bed.start();
    bed.server.last.send({ case: "goodbye", value: { reason: "the name is taken", retry: false } });
    expect(await bed.result).toMatchObject({
      code: "permission_denied",
      message: "the server refused this agent: the name is taken",
    });
    expect(bed.server.links.length).toBe(1);
  });

  test("after a Goodbye with retry, and after a lost link, the agent connects again", async () => {
    await bed.welcomed();
    bed.server.last.send({ case: "goodbye", value: { reason: "restarting", retry: true } });
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.links.length).toBe(2);
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMax);
    expect(bed.server.links.length).toBe(3);
  });

  test("silence of the server ends the session; heartbeats keep it", async () => {
    await bed.welcomed();
    for (let beat = 0; beat < 10; beat += 1) {
      await bed.clock.pass(silenceMsMax(limits.heartbeatIntervalMs) - 1);
      bed.server.last.send({ case: "heartbeat", value: {} });
    }
    expect(bed.server.links.length).toBe(1);
    await bed.clock.pass(silenceMsMax(limits.heartbeatIntervalMs) + limits.reconnectDelayMsMax);
    expect(bed.server.links[0]?.isClosed).toBe(true);
    expect(bed.server.links.length).toBeGreaterThan(1);
  });

  test("with a longer interval the server may be silent for longer", async () => {
    await bed.welcomed();
    bed.server.last.send({ case: "heartbeat", value: { intervalMs: 20_000 } });
    await bed.clock.pass(silenceMsMax(20_000) - 1);
    expect(bed.server.links.length).toBe(1);
    await bed.clock.pass(1 + limits.reconnectDelayMsMax);
    expect(bed.server.links[0]?.isClosed).toBe(true);
  });

  test("delays double to a maximum, and start again after a Welcome", async () => {
    const half = (failures: number) => reconnectDelayMs(failures, { ...random, fraction: () => 0 });
    expect([0, 1, 2, 3, 50].map(half)).toEqual([200, 400, 800, 1_600, 5_000]);
    bed.start();
    for (let count = 0; count < 20; count += 1) {
      bed.server.last.drop();
      await bed.clock.pass(limits.reconnectDelayMsMax);
    }
    expect(bed.server.links.length).toBe(21);
    bed.server.last.welcome();
    bed.server.last.drop();
    await bed.clock.pass(limits.reconnectDelayMsMin * 2);
    expect(bed.server.links.length).toBe(22);
  });

  test("an abort ends it between sessions too, and leaves the executor alone", async () => {
    await bed.welcomed();
    bed.server.last.drop();
    await settle();
    bed.controller.abort();
    expect(await bed.result).toBe("stopped");
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
      bed.start();
      if (welcome) bed.server.last.welcome();
      bed.server.last.deliver(create(ServerMessageSchema, { message } as never));
      expect(bed.server.last.isClosed).toBe(true);
      await bed.clock.pass(limits.reconnectDelayMsMax);
      expect(bed.server.links.length).toBe(2);
    });
  }

  test("the agent ignores a message of an unknown kind", async () => {
    await bed.welcomed();
    bed.server.last.deliver(create(ServerMessageSchema));
    expect(bed.server.last.isClosed).toBe(false);
  });
});
