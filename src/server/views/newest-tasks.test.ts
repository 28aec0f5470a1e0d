import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { eventually } from "../../testing/eventually.ts";
import { anObedientAgent, FakeAgent } from "../../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { World } from "../../testing/world.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import { NewestTasks } from "./newest-tasks.ts";
import type { TaskPlace } from "../operations/operations.ts";
import type { NewestTaskView } from "./views.ts";

let plane: TestPlane;
beforeEach(async () => {
  ({ plane } = await aPlane());
});
afterEach(() => plane.close());

const submit = (...specs: Partial<JobSpecInput>[]) =>
  plane.operations.submitJobs(specs.map((spec) => ({ spec: { command: ["true"], ...spec } })));

async function all(isOpenOnly = false): Promise<{ tasks: NewestTaskView[]; pages: number }> {
  const tasks: NewestTaskView[] = [];
  let from: TaskPlace | undefined;
  for (let pages = 1; ; pages++) {
    const page = await plane.operations.listNewestTasks({ from, isOpenOnly });
    expect(page.tasks.length).toBeLessThanOrEqual(limits.newestTasksPageMax);
    tasks.push(...page.tasks);
    if (page.next === undefined) return { tasks, pages };
    from = page.next;
  }
}
const ids = ({ tasks }: { tasks: readonly NewestTaskView[] }): string[] =>
  tasks.map(({ id }) => id);

describe("the newest tasks", () => {
  test("begin with those of the newest job, an array's in their order", async () => {
    await submit({}, { array: "3-9:3" }, { command: undefined, script: "echo", name: "a script" });
    expect(ids(await all())).toEqual(["3", "2.3", "2.6", "2.9", "1"]);
    const { tasks } = await all();
    expect(tasks[0]).toEqual({
      id: "3",
      jobId: "3",
      index: 0,
      attempt: 0,
      state: "pending",
      isOver: false,
      command: ["a script"],
    });
    expect(tasks[1]).toMatchObject({ jobId: "2", index: 3, command: ["true"] });
  });

  test("show their place, their end and its reason", async () => {
    await submit({}, { command: ["false"] });
    await plane.operations.cancelJob("2", "not wanted");
    await anObedientAgent(plane, 3);
    await eventually(async () => (await plane.operations.getJob("1")).endedAtMs !== undefined, {
      what: "job 1 ends",
    });
    expect((await all()).tasks).toMatchObject([
      { id: "2", state: "cancelled", isOver: true, reason: "not wanted", attempt: 0 },
      { id: "1", state: "failed", failure: "exited", node: "w1", reason: "exited with code 3" },
    ]);
  });

  test("that have not ended can be listed alone, and are counted", async () => {
    await submit({}, { array: "0-2" }, {});
    await plane.operations.cancelJob("2.1", "");
    await plane.operations.cancelJob("3", "");
    expect(ids(await all(true))).toEqual(["2.0", "2.2", "1"]);
    const page = await plane.operations.listNewestTasks({ isOpenOnly: false });
    expect(page.openTotal).toBe(3);
  });

  test("are all listed, page by page, each once", async () => {
    const many = { array: `0-${limits.newestTasksPageMax * 2}` };
    await submit(...Array.from({ length: 1_500 }, () => ({})), many, {}, {});
    const { tasks, pages } = await all();
    expect(pages).toBe(4);
    expect(new Set(ids({ tasks })).size).toBe(1_500 + 2_001 + 2);
    expect(ids({ tasks }).slice(0, 3)).toEqual(["1503", "1502", "1501.0"]);
    expect(ids({ tasks }).at(-1)).toBe("1");
  });

  test("of a job that is removed meanwhile are not in the next page", async () => {
    await submit({ array: "0-9" });
    const { tasks } = await plane.operations.listNewestTasks({
      from: { job: 2, position: 5 },
      isOpenOnly: false,
    });
    expect(tasks).toHaveLength(10);
  });

  test("a page reads a bounded number, although none of them passes the filter", async () => {
    const last = limits.newestTasksScanMax;
    await submit({ array: `0-${last}` });
    const agent = new FakeAgent(plane);
    let seq = 0;
    agent.onWork = (starts) => {
      const value = { cause: EndCause.EXITED, exitCode: 0 };
      const ended = starts.filter(({ index }) => index !== last);
      const events = ended.map((id) => ({ id, event: { case: "ended" as const, value } }));
      agent.say({ case: "reports", value: { seq: ++seq, events } });
    };
    agent.hello("w1", { capacity: { cpu: 1_000_000 } });
    const succeeded = async () => (await plane.operations.getJob("1")).tasks.succeeded;
    await eventually(async () => (await succeeded()) === last, { what: "all but one end" });
    const first = await plane.operations.listNewestTasks({ isOpenOnly: true });
    expect(first.tasks).toEqual([]);
    expect(first.next).toBeDefined();
    const { tasks, pages } = await all(true);
    expect(ids({ tasks })).toEqual([`1.${last}`]);
    expect(pages).toBe(2);
  });

  test("are read in bounded slices", () => {
    const world = new World();
    const submissions = Array.from({ length: 500 }, () => ({
      spec: aSpec({}),
      idempotencyKey: undefined,
    }));
    world.do({ kind: "submit-jobs", submissions, by: "t", nowMs: 0 });
    world.flush();
    const page = new NewestTasks({ isOpenOnly: false });
    let slices = 1;
    for (; !page.slice(world.state); slices++) {
      expect(page.looks).toBeLessThanOrEqual(slices * (limits.listSliceLooks + 10));
    }
    expect(slices).toBe(3); // reading a folded job counts as several looks
    expect(page.tasks.map(({ id }) => id)).toEqual(
      Array.from({ length: 500 }, (_, at) => String(500 - at)),
    );
    expect(page.next).toBeUndefined();
  });
});
