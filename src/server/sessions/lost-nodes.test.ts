import { describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import type { FakeClock } from "../../testing/fake-clock.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import { limits } from "../../limits.ts";

const aPlane = usePlanes();

const HELLO_AT = 1_000_000;

/** A node with one task that runs. */
async function aBusyNode(hello: Record<string, unknown> = {}) {
  const { plane, clock } = await aPlane();
  const agent = new FakeAgent(plane);
  agent.hello("edge", hello);
  await agent.hears("welcome");
  await plane.operations.submitJobs([{ spec: { command: ["true"] } }]);
  await agent.hears("start 1.0#1");
  return { plane, clock, agent };
}

const isState = (plane: TestPlane, state: string) =>
  eventually(async () => (await plane.operations.getNode("edge")).state === state, { what: state });

/** Advances the clock in the steps in which the server checks for silence. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    clock.advance(Math.min(left, 1_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("a silent node", () => {
  test("is lost exactly when its time without a sign of life is over", async () => {
    const { plane, clock } = await aBusyNode();
    await pass(clock, limits.nodeLostAfterMs - 1);
    await isState(plane, "disconnected");
    const node = await plane.operations.getNode("edge");
    expect(node.disconnectedAtMs).toBe(HELLO_AT); // its last message
    await pass(clock, 1);
    await isState(plane, "lost");
  });

  test("whose stream ends cleanly has its full time from then on", async () => {
    const { plane, clock, agent } = await aBusyNode();
    await pass(clock, limits.heartbeatIntervalMs);
    agent.hangUp();
    await isState(plane, "disconnected");
    const node = await plane.operations.getNode("edge");
    expect(node.disconnectedAtMs).toBe(HELLO_AT + limits.heartbeatIntervalMs);
  });

  test("whose stream breaks after a missed heartbeat has its time from the last one", async () => {
    const { plane, clock, agent } = await aBusyNode();
    await pass(clock, 2 * limits.heartbeatIntervalMs + 1);
    agent.hangUp();
    await isState(plane, "disconnected");
    expect((await plane.operations.getNode("edge")).disconnectedAtMs).toBe(HELLO_AT);
  });
});

describe("a node that keeps its tasks", () => {
  const away = async (hello: Record<string, unknown>) => {
    const scene = await aBusyNode(hello);
    scene.agent.hangUp();
    await pass(scene.clock, limits.nodeLostAfterMs);
    await isState(scene.plane, "lost");
    return scene;
  };

  test("is shown so, and so are its tasks", async () => {
    const { plane } = await away({ onLost: "keep" });
    const { operations } = plane;
    expect(await operations.getNode("edge")).toMatchObject({ onLost: "keep", tasks: 1 });
    expect(await operations.explainJob("1")).toMatchObject({
      summary:
        "1 task is on node edge, which is lost: it waits until the node returns (on lost: keep)",
      hints: [expect.stringContaining("busbar nodes remove edge")],
    });
    expect((await operations.getTask("1")).attempt).toBe(1);
  });

  test("can be configured to give them up", async () => {
    const { plane } = await away({ onLost: "keep", lostAfterMs: 30_000 });
    const { operations } = plane;
    const set = await operations.setNode("edge", { onLost: "requeue" });
    expect(set).toMatchObject({ tasks: 0, lostAfterMs: 30_000 });
    expect((await operations.getTask("1")).state).toBe("waiting");
    const unset = await operations.setNode("edge", { onLost: "agent" });
    expect(unset.onLost).toBe("keep");
  });

  test("invalid settings change nothing", async () => {
    const { plane } = await away({ onLost: "keep" });
    const { operations } = plane;
    const set = (settings: object) => operations.setNode("edge", settings);
    await expect(set({ onLost: "wait" })).rejects.toThrow(
      "onLost: must be one of requeue, keep, fail, agent",
    );
    await expect(set({ lostAfterMs: 5 })).rejects.toThrow("lostAfterMs: 5 is not a time");
    await expect(operations.setNode("nobody", {})).rejects.toThrow("there is no node nobody");
    expect(await operations.getNode("edge")).toMatchObject({ onLost: "keep", tasks: 1 });
    const agent = new FakeAgent(plane);
    agent.hello("other", { onLost: "perhaps" });
    expect(agent.goodbye).toContain("hello.on_lost: must be one of requeue, keep, fail");
  });
});
