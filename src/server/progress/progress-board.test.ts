import { describe, expect, test } from "vitest";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import type { FakeClock } from "../../testing/fake-clock.ts";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";

const openPlane = usePlanes();

/** A plane with an agent that runs the tasks of job 1. */
async function aBed(
  tasks: number,
): Promise<{ plane: TestPlane; clock: FakeClock; agent: FakeAgent }> {
  const { plane, clock } = await openPlane();
  const agent = new FakeAgent(plane);
  agent.hello("w1", { capacity: { cpu: 1_000 * tasks } });
  await agent.hears("welcome");
  const spec = { command: ["work"], array: `0-${tasks - 1}` };
  await plane.operations.submitJobs([{ spec }]);
  await agent.hears(`start 1.${tasks - 1}#1`);
  for (let index = 0; index < tasks; index++) {
    agent.started(index + 1, [1, index, 1], clock.nowMs());
  }
  await eventually(async () => (await plane.operations.getJob("1")).tasks.running === tasks, {
    what: "all tasks run",
  });
  return { plane, clock, agent };
}

const tell = (agent: FakeAgent, indexes: readonly number[], percent: number, message = ""): void =>
  agent.say({
    case: "progress",
    value: {
      runs: indexes.map((index) => ({
        id: { job: 1, index, attempt: 1 },
        progress: { percent, message },
      })),
    },
  });

const shown = async ({ operations }: TestPlane, index = 0) =>
  (await operations.getTask(`1.${index}`)).progress;

const becomes = (plane: TestPlane, percent: number, index = 0): Promise<true> =>
  eventually(async () => (await shown(plane, index))?.percent === percent, {
    what: `${percent} % of task ${index}`,
  });

const isIn = (plane: TestPlane, state: string): Promise<true> =>
  eventually(async () => (await plane.operations.getTask("1.0")).state === state, {
    what: `task 1.0 is ${state}`,
  });

const commitsOf = async ({ operations }: TestPlane): Promise<number> =>
  (await operations.stats()).commits;

describe("reports of agents", () => {
  test("have one commit a second, for all tasks together, however many there are", async () => {
    const { plane, clock, agent } = await aBed(50);
    const all = Array.from({ length: 50 }, (_, index) => index);
    const before = await commitsOf(plane);
    for (let percent = 1; percent <= 100; percent++) {
      for (const index of all) tell(agent, [index], percent);
      clock.advance(50); // 5 s in all
      await new Promise((resolve) => setImmediate(resolve)); // the loop has its turn
    }
    clock.advance(limits.progressCommitMs);
    await becomes(plane, 100);
    await becomes(plane, 100, 49);
    expect((await plane.operations.getJob("1")).progress).toEqual({ percent: 100 });
    const commits = (await commitsOf(plane)) - before;
    expect(commits).toBeGreaterThanOrEqual(2);
    expect(commits).toBeLessThanOrEqual(7);
  });

  test("go along with a commit that happens anyway", async () => {
    const { plane, clock, agent } = await aBed(1);
    tell(agent, [0], 10);
    clock.advance(0);
    await becomes(plane, 10);
    clock.advance(limits.progressTaskMs);
    tell(agent, [0], 20, "with somebody else's job");
    expect((await shown(plane))?.percent).toBe(10); // not due by itself, and not visible
    const before = await commitsOf(plane);
    await plane.operations.putGroup({ name: "g" });
    await becomes(plane, 20);
    expect((await commitsOf(plane)) - before).toBe(1);
  });

  test("of one task are stored once a second, whatever else is committed", async () => {
    const { plane, clock, agent } = await aBed(1);
    const seen = new Set<number>();
    for (let percent = 1; percent <= 100; percent++) {
      tell(agent, [0], percent);
      clock.advance(100);
      await plane.operations.putGroup({ name: `g${percent}` });
      seen.add((await shown(plane))?.percent ?? 0);
    }
    expect(seen.size).toBeGreaterThanOrEqual(5);
    expect(seen.size).toBeLessThanOrEqual(13);
  });

  test("of a run whose start is unknown are stored once the start is known", async () => {
    const { plane, clock } = await openPlane();
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await agent.hears("welcome");
    await plane.operations.submitJobs([{ spec: { command: ["work"], array: "0-0" } }]);
    await agent.hears("start 1.0#1");
    tell(agent, [0], 30);
    clock.advance(5_000);
    expect(await shown(plane)).toBeUndefined();
    agent.started(1, [1, 0, 1], clock.nowMs());
    await agent.hears("ack");
    clock.advance(limits.progressCommitMs);
    await becomes(plane, 30);
  });

  test("of other nodes' runs, of ended attempts and with invalid values are ignored", async () => {
    const { plane, clock, agent } = await aBed(1);
    const other = new FakeAgent(plane);
    other.hello("w2");
    await other.hears("welcome");
    tell(other, [0], 90);
    const runs = [
      { id: { job: 1, index: 0, attempt: 7 }, progress: { percent: 80, message: "" } },
      { id: { job: 1, index: 0, attempt: 1 }, progress: { percent: Number.NaN, message: "" } },
      { id: { job: 1, index: 0, attempt: 1 }, progress: { percent: 5, message: "\u001b[2J" } },
    ];
    agent.say({ case: "progress", value: { runs } });
    clock.advance(limits.progressCommitMs);
    await becomes(plane, 5);
    expect((await shown(plane))?.message).toBe("␛[2J");
    expect(agent.goodbye + other.goodbye).toBe("");
  });
});

describe("reports of callers", () => {
  test("are answered with the task, once they are durable", async () => {
    const { plane, clock } = await aBed(2);
    const said = plane.operations.reportProgress("1.1", { percent: 40.129, message: "step 3" });
    const progress = { percent: 40.12, message: "step 3", reportedAtMs: clock.nowMs() };
    await eventually(
      async () => {
        clock.advance(0);
        return (await shown(plane, 1)) !== undefined;
      },
      { what: "progress is shown" },
    );
    expect(await said).toMatchObject({ id: "1.1", attempt: 1, progress });
    expect((await plane.operations.getJob("1")).progress).toEqual({ percent: 20.06 });
  });

  test("of an attempt that is not current, of a task that does not run and with invalid values are rejected", async () => {
    const { plane, clock, agent } = await aBed(1);
    const refusal = async (id: string, percent: number, attempt?: number): Promise<string> => {
      const said = plane.operations.reportProgress(id, { percent, attempt });
      let text: string | undefined;
      said.then(
        () => (text = "nothing was refused"),
        (error: unknown) => (text = String(error)),
      );
      return eventually(
        () => {
          clock.advance(limits.progressAlongMs);
          return text;
        },
        { what: "a refusal" },
      );
    };
    expect(await refusal("1.0", 50, 2)).toContain(
      "attempt 2 of task 1.0 is not its current one, which is 1",
    );
    expect(await refusal("1.0", 101)).toContain("percent: must be from 0 to 100, not 101");
    expect(await refusal("1.0", 50, 0)).toContain("attempt: must be from 1");
    expect(await refusal("7", 50)).toContain("there is no job 7");
    agent.ended(2, [1, 0, 1], { endedAtMs: clock.nowMs(), cause: EndCause.EXITED });
    await isIn(plane, "succeeded");
    expect(await refusal("1.0", 50)).toContain("task 1.0 is succeeded: only a running task");
    expect(await shown(plane)).toBeUndefined();
  });
});

test("the end of a run has its last progress, although none was stored before", async () => {
  const { plane, clock, agent } = await aBed(1);
  tell(agent, [0], 60);
  const progress = { percent: 75, message: "as far as it came" };
  const end = { endedAtMs: clock.nowMs(), cause: EndCause.EXITED, exitCode: 3, progress };
  agent.ended(2, [1, 0, 1], end);
  await isIn(plane, "failed");
  expect(await shown(plane)).toEqual(progress);
  clock.advance(limits.progressCommitMs);
  expect(await shown(plane)).toEqual(progress);
});
