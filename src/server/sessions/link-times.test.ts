import { expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import type { LinkTimes } from "../../core/model/node/heartbeat.ts";

const aPlane = usePlanes();

async function anAgent(linkTimes: LinkTimes | undefined, hello: Record<string, unknown> = {}) {
  const { plane, clock } = await aPlane({ linkTimes });
  const agent = new FakeAgent(plane);
  agent.hello("edge", hello);
  await eventually(() => agent.heard.length > 0, { what: "an answer" });
  return { agent, clock };
}

const welcomeOf = ({ heard }: FakeAgent) => {
  const first = heard.find((message) => message.case === "welcome");
  return first?.case === "welcome" ? [first.value.heartbeatIntervalMs, first.value.silenceMs] : [];
};

const nextBeat = (agent: FakeAgent): number => {
  agent.say({ case: "heartbeat", value: {} });
  const last = agent.heard.findLast((message) => message.case === "heartbeat");
  return last?.case === "heartbeat" ? last.value.intervalMs : 0;
};

test.each<[string, LinkTimes | undefined, Record<string, number>, [number, number], number]>([
  ["nobody says anything", undefined, {}, [5_000, 0], 20_000],
  ["the server does", { heartbeatMs: 2_000, silenceMs: 7_000 }, {}, [2_000, 7_000], 7_000],
  [
    "the agent does, and counts first",
    { heartbeatMs: 2_000, silenceMs: 7_000 },
    { heartbeatMs: 30_000, silenceMs: 120_000 },
    [30_000, 120_000],
    120_000,
  ],
  ["the agent wants a heartbeat only", undefined, { heartbeatMs: 30_000 }, [30_000, 0], 70_000],
])("times of a link when %s", async (_name, times, hello, welcome, silenceMs) => {
  const { agent, clock } = await anAgent(times, hello);
  expect(welcomeOf(agent)).toEqual(welcome);
  const beatMs = nextBeat(agent);
  expect(beatMs).toBeGreaterThan(welcome[0] - 251);
  expect(beatMs).toBeLessThanOrEqual(welcome[0]);
  const steps = (ms: number): void => {
    for (let left = ms; left > 0; left -= 500) clock.advance(Math.min(left, 500));
  };
  const beforeMs = welcome[1] === 0 ? 2 * beatMs + 10_000 : silenceMs;
  steps(beforeMs);
  expect(agent.goodbye).toBe("");
  steps(5_001);
  expect(agent.goodbye).toMatch(/silent.*retry true/);
});

test("the server refuses an agent with contradictory times for good, with the reason", async () => {
  const { agent } = await anAgent(undefined, { heartbeatMs: 8_000, silenceMs: 9_000 });
  expect(agent.goodbye).toContain("hello: a silence of 9s is too short for a heartbeat of 8s");
  expect(agent.goodbye).toContain("(retry false)");
});
