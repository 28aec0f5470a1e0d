import { describe, expect, test } from "vitest";
import { aPlane } from "../../testing/plane.ts";
import { documentOf, times } from "../../core/graph/testing/documents.ts";
import { limits } from "../../limits.ts";
import type { Operations } from "./operations.ts";

const node = { type: "node", inside: [{ type: "core", size: 8 }] };
const graph = documentOf({ type: "cluster", inside: times(4, node) });

async function blue(count = 1, more: object = {}): Promise<Operations> {
  const { operations } = (await aPlane()).plane;
  await operations.registerCluster({ name: "blue", graph });
  const spec = { command: ["true"], placement: { cluster: "blue" }, ...more };
  await operations.submitJobs(Array.from({ length: count }, () => ({ spec })));
  return operations;
}

const output = async (operations: Operations, taskId: string): Promise<string> => {
  let text = "";
  const query = { taskId, stream: "stdout" } as const;
  for await (const { data } of operations.readOutput(query, new AbortController().signal)) {
    text += Buffer.from(data).toString();
  }
  return text;
};

describe("tasks that a cluster runs by itself", () => {
  test("are listed oldest first, accepted once, and reported with their output", async () => {
    const operations = await blue(3);
    const { tasks, total } = await operations.listOffered("blue", 2);
    expect([tasks.map(({ id }) => id), total]).toEqual([["1", "2"], 3]);
    expect(tasks[0]).toMatchObject({ attempt: 1, spec: { command: ["true"] } });
    const [first, second] = await Promise.all([
      operations.acceptTasks("blue", ["1", "2"]),
      operations.acceptTasks("blue", ["2", "1"]),
    ]);
    expect([first.accepted, second.accepted]).toEqual([["1", "2"], []]);
    expect(second.refused).toEqual([
      { id: "2", reason: "it is accepted already" },
      { id: "1", reason: "it is accepted already" },
    ]);
    expect(await operations.getJob("1")).toMatchObject({ state: "accepted" });
    expect(await operations.getTask("1")).toMatchObject({ state: "accepted", cluster: "blue" });
    await expect(output(operations, "1")).rejects.toThrow("has not reported its output");
    await operations.reportTasks("blue", [{ id: "1", state: "running" }]);
    expect(await operations.getJob("1")).toMatchObject({ state: "running" });
    const done = { id: "1", state: "succeeded", stdout: "hello\n" };
    await operations.reportTasks("blue", [done, { id: "2", state: "failed", exitCode: 9 }]);
    expect(await operations.getJob("1")).toMatchObject({ state: "succeeded", exitCode: 0 });
    expect(await operations.getTask("2")).toMatchObject({ exitCode: 9, cluster: "blue" });
    expect(await output(operations, "1")).toBe("hello\n");
  });

  test("explain shows what they wait for, and what would help", async () => {
    const operations = await blue(2);
    await operations.acceptTasks("blue", ["1"]);
    expect((await operations.getJob("2")).reason).toBe(
      "offered to cluster blue, which has not accepted it yet",
    );
    expect((await operations.getJob("1")).reason).toBe(
      "accepted by cluster blue, which has not reported on it yet",
    );
    expect(await operations.explainJob("1")).toMatchObject({
      state: "accepted",
      summary: "1 task accepted by cluster blue, which has not reported on it yet",
    });
    expect(await operations.explainJob("2")).toMatchObject({
      summary: "1 task offered to cluster blue, which has not accepted it yet",
      hints: [expect.stringContaining("cluster blue has no agent") as string],
    });
    await operations.reportTasks("blue", [{ id: "1", state: "running" }]);
    expect((await operations.explainJob("1")).summary).toBe("every task is under way");
  });

  test("tasks of an array are named one by one", async () => {
    const operations = await blue(1, { array: "3-5" });
    const { tasks } = await operations.listOffered("blue");
    expect(tasks.map(({ id }) => id)).toEqual(["1.3", "1.4", "1.5"]);
    await expect(operations.acceptTasks("blue", ["1"])).rejects.toThrow(
      "ids[0]: job 1 is an array; name its tasks",
    );
    expect((await operations.acceptTasks("blue", ["1.4"])).accepted).toEqual(["1.4"]);
    expect(await operations.getJob("1")).toMatchObject({ state: "running" });
  });

  test("invalid reports are rejected by task, and change nothing", async () => {
    const operations = await blue();
    await operations.acceptTasks("blue", ["1"]);
    const bad = async (report: object, text: string) =>
      expect(
        operations.reportTasks("blue", [{ id: "1", state: "failed", ...report }]),
      ).rejects.toThrow(text);
    await bad({ state: "gone" }, "reports[0].state");
    await bad({ exitCode: 256 }, "reports[0].exitCode: must be a whole number from 0 to 255");
    await bad({ signal: "kill" }, "reports[0].signal");
    await bad({ endedAtMs: -1 }, "reports[0].endedAtMs");
    await bad({ id: "x" }, "reports[0].id");
    await expect(operations.listOffered("red")).rejects.toThrow("there is no cluster red");
    await expect(operations.listOffered("blue", 0)).rejects.toThrow(
      "max: must be a whole number from 1",
    );
    const many = Array.from({ length: limits.offeredPageMax + 1 }, () => "1");
    await expect(operations.acceptTasks("blue", many)).rejects.toThrow("ids: must have 1 to");
    expect(await operations.getTask("1")).toMatchObject({ state: "accepted" });
  });
});
