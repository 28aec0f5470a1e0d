import { describe, expect, test } from "vitest";
import { FakeAgent } from "../../testing/fake-agent.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import { silenceMsMax } from "../../core/model/node/heartbeat.ts";
import { limits } from "../../limits.ts";

const openPlane = usePlanes();

describe("agents that are silent", () => {
  test("silence ends a session; heartbeats keep it", async () => {
    const { plane, clock } = await openPlane();
    const [quiet, alive] = [new FakeAgent(plane), new FakeAgent(plane)];
    quiet.hello("w1");
    alive.hello("w2");
    await quiet.hears("welcome");
    await alive.hears("welcome");
    for (let beat = 0; beat < 6; beat++) {
      alive.say({ case: "heartbeat", value: {} });
      clock.advance(limits.heartbeatIntervalMs);
    }
    expect(quiet.goodbye).toContain("silent");
    expect(alive.goodbye).toBe("");
    expect(alive.told.filter((line) => line === "heartbeat").length).toBe(6);
  });

  test("time in which the server itself did not run does not count as silence", async () => {
    const { plane, clock } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    clock.stall(10 * silenceMsMax(limits.heartbeatIntervalMs));
    clock.advance(0);
    expect(agent.goodbye).toBe("");
    clock.advance(2 * silenceMsMax(limits.heartbeatIntervalMs));
    expect(agent.goodbye).toContain("silent");
  });

  test("with many heartbeats each agent sends fewer, and may be silent for longer", async () => {
    const { plane, clock } = await openPlane();
    const [many, rare] = [new FakeAgent(plane), new FakeAgent(plane)];
    many.hello("w1");
    rare.hello("w2");
    await many.hears("welcome");
    await rare.hears("welcome");
    for (let beat = 0; beat < 10_000; beat++) many.say({ case: "heartbeat", value: {} });
    rare.say({ case: "heartbeat", value: {} });
    const silenceMs = silenceMsMax(limits.heartbeatIntervalMsMax);
    for (let atMs = 0; atMs < silenceMs; atMs += limits.heartbeatIntervalMs) {
      expect(rare.goodbye).toBe("");
      clock.advance(limits.heartbeatIntervalMs);
    }
    clock.advance(limits.heartbeatIntervalMs);
    expect(rare.goodbye).toContain("silent");
  });

  test("bytes of an incomplete message keep a session; when they stop, it ends", async () => {
    const { plane, clock } = await openPlane();
    const [thin, dead] = [new FakeAgent(plane), new FakeAgent(plane)];
    thin.hello("w1");
    dead.hello("w2");
    dead.bytesSent = 1_000;
    await thin.hears("welcome");
    await dead.hears("welcome");
    const pass = (looks: number): void => {
      for (let look = 0; look < looks; look++) clock.advance(limits.heartbeatIntervalMs);
    };
    for (let look = 0; look < 20; look++) {
      thin.bytesSent += 1;
      pass(1);
    }
    expect(thin.goodbye).toBe("");
    expect(dead.goodbye).toContain("silent");
    pass(silenceMsMax(limits.heartbeatIntervalMs) / limits.heartbeatIntervalMs + 1);
    expect(thin.goodbye).toContain("silent");
  });

  test("Hello may take long while its bytes arrive, but not for ever", async () => {
    const { plane, clock } = await openPlane();
    const agents = [new FakeAgent(plane), new FakeAgent(plane)] as const;
    for (let atMs = 0; atMs < limits.greetingMsMax; atMs += limits.helloTimeoutMs) {
      for (const agent of agents) expect(agent.goodbye).toBe("");
      if (atMs + limits.helloTimeoutMs === limits.greetingMsMax) agents[0].hello("w1");
      for (const agent of agents) agent.bytesSent += 1;
      clock.advance(limits.helloTimeoutMs);
    }
    await agents[0].hears("welcome");
    expect(agents[1].goodbye).toContain("Hello in time");
  });

  test("a stream without Hello is closed", async () => {
    const { plane, clock } = await openPlane();
    const agent = new FakeAgent(plane);
    clock.advance(limits.helloTimeoutMs);
    expect(agent.goodbye).toContain("Hello in time");
  });
});
