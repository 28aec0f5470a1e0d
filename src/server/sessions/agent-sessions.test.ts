import { LOCAL } from "../../core/access/principal.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import type { Said } from "../../testing/fake-agent.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import { jobId, nodeId } from "../../core/model/ids.ts";
import type { ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import { AgentSession } from "./agent-session.ts";
import { PackedSpecs } from "../work/packed-specs.ts";

const openPlane = usePlanes();

const submit = (plane: TestPlane, count: number) =>
  plane.operations.submitJobs(
    Array.from({ length: count }, () => ({ spec: { command: ["true"] } })),
  );

const describeWork = (message: ServerMessage["message"]): string =>
  message.case === "work"
    ? `${message.value.starts.length} starts, ${message.value.stops.length} stops`
    : String(message.case);

const ended = (job: number, attempt = 1) => ({
  id: { job, index: 0, attempt },
  event: {
    case: "ended" as const,
    value: { startedAtMs: 5, endedAtMs: 6, cause: EndCause.EXITED, exitCode: 0 },
  },
});

describe("agent sessions", () => {
  test("a late Hello whose stream is already over ends the session it replaced", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    const late = new FakeAgent(plane);
    late.hello("w1");
    late.hangUp(); // before Hello is durable
    await agent.hears("goodbye");
    expect((await plane.operations.getNode("w1")).state).toBe("disconnected");
  });

  test("an agent receives Welcome and work with its spec, reports, and receives acknowledgements", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    await submit(plane, 1);
    await agent.hears("start 1.0#1");
    expect(agent.told).toEqual(["welcome", "spec 1", "start 1.0#1"]);
    agent.say({ case: "reports", value: { seq: 1, events: [ended(1)] } });
    await agent.hears("ack");
    expect((await plane.operations.getJob("1")).state).toBe("succeeded");
  });

  test("work decided together with Hello is not lost", async () => {
    const { plane } = await openPlane();
    await submit(plane, 3);
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("start 3.0#1");
    expect(agent.told[0]).toBe("welcome");
  });

  test("a spec is sent once while a run of its job is held, and again after", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1", { capacity: { cpu: 1_000 } });
    await agent.hears("welcome");
    const spec = { command: ["true"], array: "0-1" };
    await plane.operations.submitJobs([{ spec }]);
    await agent.hears("start 1.0#1");
    agent.say({ case: "reports", value: { seq: 1, events: [ended(1)] } });
    await agent.hears("start 1.1#1");
    expect(agent.told.filter((text) => text === "spec 1").length).toBe(2);
  });

  test("starts go out before stops, because a stop may concern one of them", async () => {
    const { plane, clock } = await openPlane();
    await submit(plane, 1);
    const heard: string[] = [];
    const session = new AgentSession(
      1,
      { nodeId: nodeId("w1"), cluster: "default" },
      {
        peer: {
          principal: LOCAL,
          send: ({ message }) => heard.push(describeWork(message)),
          close: () => undefined,
        },
        clock,
        parts: undefined,
        packedSpecs: new PackedSpecs(),
      },
    );
    const run = { jobId: jobId(1), index: 0, attempt: 1 };
    const job = plane.state.jobs.get(jobId(1))?.job;
    session.stop(run);
    if (job !== undefined) session.start(run, job);
    session.flush();
    expect(heard).toEqual([]); // nothing before Welcome
    session.welcome();
    expect(heard).toEqual(["welcome", "1 starts, 0 stops", "0 starts, 1 stops"]);
  });

  test("the reason why a task is queued below is shown, and not stored", async () => {
    const { plane } = await openPlane();
    const { operations } = plane;
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    await submit(plane, 1);
    await agent.hears("start 1.0#1");
    const revision = (await operations.countJobs()).revision;
    const assigned = "it was assigned to node w1 0s ago, which has not reported its start yet";
    expect((await operations.explainJob("1")).summary).toBe(assigned);
    const say = (reason: string): void => {
      const runs = [{ job: 1, index: 0, attempt: 1 }];
      agent.say({ case: "queued", value: { groups: [{ reason, runs }] } });
    };
    say("slurm: Priority");
    say("slurm: Resources");
    const text = "1 task waits in slurm: Resources";
    expect((await operations.explainJob("1")).summary).toBe(text);
    expect((await operations.getJob("1")).reason).toBe(text);
    expect((await operations.getTask("1.0")).reason).toBe("waits in slurm: Resources");
    expect((await operations.countJobs()).revision).toBe(revision);
    agent.say({ case: "queued", value: { groups: [] } });
    expect((await operations.explainJob("1")).summary).toBe(assigned);
  });

  test("an unhealthy node is assigned nothing, and tasks that it returns do not come back to it", async () => {
    const { plane } = await openPlane();
    const { operations } = plane;
    const agent = new FakeAgent(plane);
    agent.hello("w1", { health: { sickness: "the disk is full" } });
    await agent.hears("welcome");
    await submit(plane, 1);
    expect(await operations.getNode("w1")).toMatchObject({
      state: "unhealthy",
      sickness: "the disk is full",
    });
    const reasons = JSON.stringify(await operations.explainJob("1"));
    expect(reasons).toContain("unhealthy: the disk is full");
    expect(reasons).toContain("repair the unhealthy nodes");
    expect(agent.told).toEqual(["welcome"]);
    agent.say({ case: "health", value: {} });
    await agent.hears("start 1.0#1");
    // In one commit: the task must not come back in between.
    agent.say({ case: "health", value: { sickness: "no memory" } });
    const cause = EndCause.COULD_NOT_START;
    const value = { endedAtMs: 6, cause, message: "no memory", isNodeFault: true };
    const event = { case: "ended" as const, value };
    const events = [{ id: { job: 1, index: 0, attempt: 1 }, event }];
    agent.say({ case: "reports", value: { seq: 1, events } });
    await agent.hears("ack");
    expect((await operations.getNode("w1")).state).toBe("unhealthy");
    const { tasks } = await operations.listTasks("1", [], {});
    const past = [{ reason: "its node could not start it: no memory" }];
    expect(tasks).toMatchObject([{ state: "waiting", attempt: 1, past }]);
    expect(agent.told.filter((word) => word.startsWith("start"))).toEqual(["start 1.0#1"]);
  });

  test("an agent with another key cannot use the name", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    const liar = new FakeAgent(plane);
    liar.hello("w1", { agentKey: "another key of another agent" });
    await liar.hears("goodbye");
    expect(liar.goodbye).toMatch(/belongs to another agent.*retry false/);
    expect((await plane.operations.getNode("w1")).state).toBe("connected");
    expect(agent.isClosed).toBe(false);
  });

  test("a new session of the same agent takes over from the old one", async () => {
    const { plane } = await openPlane();
    const [before, after] = [new FakeAgent(plane), new FakeAgent(plane)];
    before.hello("w1");
    await before.hears("welcome");
    after.hello("w1");
    await after.hears("welcome");
    await before.hears("goodbye");
    await submit(plane, 1);
    await after.hears("start 1.0#1");
    expect((await plane.operations.getNode("w1")).state).toBe("connected");
  });

  test("a node has the address of its agent's last connection", async () => {
    const { plane } = await openPlane();
    const addressOf = async (name: string) => (await plane.operations.getNode(name)).address;
    for (const address of ["192.0.2.7", "2001:db8::8"]) {
      const agent = new FakeAgent(plane, address);
      agent.hello("w1");
      await agent.hears("welcome");
      expect(await addressOf("w1")).toBe(address);
      agent.hangUp();
    }
    await eventually(async () => (await plane.operations.getNode("w1")).state === "disconnected", {
      what: "the node is disconnected",
    });
    expect(await addressOf("w1")).toBe("2001:db8::8");
    const unknown = new FakeAgent(plane);
    unknown.hello("w1");
    await unknown.hears("welcome");
    expect(await plane.operations.getNode("w1")).not.toHaveProperty("address");
  });

  test("a report for a task of another node changes nothing and its run is stopped", async () => {
    const { plane } = await openPlane();
    const [owner, other] = [new FakeAgent(plane), new FakeAgent(plane)];
    owner.hello("w1");
    await owner.hears("welcome");
    await submit(plane, 1);
    await owner.hears("start 1.0#1");
    other.hello("w2");
    await other.hears("welcome");
    const started = { case: "started" as const, value: { startedAtMs: 1 } };
    const id = { job: 1, index: 0, attempt: 1 };
    other.say({ case: "reports", value: { seq: 1, events: [ended(1), { id, event: started }] } });
    await other.hears("ack");
    await other.hears("stop 1.0#1");
    expect((await plane.operations.getTask("1")).state).toBe("assigned");
  });

  const nonsense: { readonly name: string; readonly say: NonNullable<Said> }[] = [
    { name: "no content", say: { case: undefined } },
    { name: "hello twice", say: { case: "hello", value: { node: "w1" } } },
    { name: "a report without run", say: { case: "reports", value: { seq: 1, events: [{}] } } },
    {
      name: "an end without cause",
      say: {
        case: "reports",
        value: { events: [{ id: { job: 1, attempt: 1 }, event: { case: "ended", value: {} } }] },
      },
    },
    {
      name: "an absurd time",
      say: {
        case: "reports",
        value: {
          events: [
            {
              id: { job: 1, attempt: 1 },
              event: { case: "started", value: { startedAtMs: Number.NaN } },
            },
          ],
        },
      },
    },
  ];
  for (const { name, say } of nonsense) {
    test(`an invalid message ends the session with a reason: ${name}`, async () => {
      const { plane } = await openPlane();
      const agent = new FakeAgent(plane);
      agent.hello("w1");
      await agent.hears("welcome");
      agent.say(say);
      expect(agent.goodbye).not.toBe("");
      expect(agent.isClosed).toBe(true);
      await eventually(
        async () => (await plane.operations.getNode("w1")).state === "disconnected",
        {
          what: "the node is disconnected",
        },
      );
    });
  }

  const bad: { readonly name: string; readonly hello: Record<string, unknown> }[] = [
    { name: "a bad name", hello: { node: "a b" } },
    { name: "a short key", hello: { agentKey: "x" } },
    { name: "a negative capacity", hello: { capacity: { cpu: -1 } } },
    { name: "a broken capacity", hello: { capacity: { cpu: Number.POSITIVE_INFINITY } } },
    { name: "a run of nothing", hello: { runs: [{}] } },
  ];
  for (const { name, hello } of bad) {
    test(`the server refuses a Hello with ${name} and registers nothing`, async () => {
      const { plane } = await openPlane();
      const agent = new FakeAgent(plane);
      agent.hello("w1", hello);
      expect(agent.goodbye).toContain("retry false");
      expect((await plane.operations.listNodes({}, {})).nodes).toEqual([]);
    });
  }

  test("an agent without the node's key has no permission for any message", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    await submit(plane, 1);
    await agent.hears("start 1.0#1");
    const runs = [{ job: 1, index: 0, attempt: 1 }];
    agent.say({ case: "queued", value: { groups: [{ reason: "Priority", runs }] } });
    const impostor = new FakeAgent(plane);
    impostor.hello("w1", { agentKey: "another".padEnd(32, "x") });
    impostor.say({ case: "queued", value: { groups: [{ reason: "forged", runs }] } });
    expect(impostor.goodbye).toContain("queued came before node w1 was welcomed");
    expect(impostor.isClosed).toBe(true);
    const task = plane.state.task({ jobId: jobId(1), index: 0 });
    expect(plane.sessions.queueReasons.of(task)).toBe("Priority");
    expect(plane.sessions.isConnected(nodeId("w1"))).toBe(true);
  });

  test("an agent of a node cannot accept tasks for its cluster", async () => {
    const { plane } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    agent.say({ case: "take", value: { tasks: 1 } });
    expect(agent.goodbye).toContain(
      "agent:w1 has the permission tasks.pull only for what belongs to node w1",
    );
    expect(agent.isClosed).toBe(true);
  });

  test("a lost node's tasks are placed elsewhere; when it returns, the server sends it stops for them", async () => {
    const { plane, clock } = await openPlane();
    const [first, second] = [new FakeAgent(plane), new FakeAgent(plane)];
    first.hello("w1");
    await first.hears("welcome");
    await submit(plane, 1);
    await first.hears("start 1.0#1");
    first.hangUp();
    await eventually(async () => (await plane.operations.getNode("w1")).state === "disconnected", {
      what: "the node is disconnected",
    });
    second.hello("w2");
    await second.hears("welcome");
    for (let atMs = 0; atMs <= limits.nodeLostAfterMs; atMs += limits.heartbeatIntervalMs) {
      second.say({ case: "heartbeat", value: {} });
      clock.advance(limits.heartbeatIntervalMs);
    }
    await second.hears("start 1.0#2");
    const again = new FakeAgent(plane);
    again.hello("w1", { runs: [{ job: 1, index: 0, attempt: 1 }] });
    await again.hears("stop 1.0#1");
    again.say({ case: "reports", value: { seq: 1, events: [ended(1, 1)] } });
    await again.hears("ack");
    expect(await plane.operations.getTask("1")).toMatchObject({ attempt: 2, state: "assigned" });
  });
});
