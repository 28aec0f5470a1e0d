import { describe, expect, test } from "vitest";
import type { TaskReport } from "../../gen/busbar/v1/busbar_pb.ts";
import { useClusterCli } from "../testing/cluster-cli.ts";

const { busbar, json, said, register, server } = useClusterCli();

describe("satisfy", () => {
  test("exits with 0 when a cluster can run it, with 1 and the reasons when none can", async () => {
    await register("blue");
    await register("red");
    const good = await busbar("satisfy job.yaml", { "job.yaml": "version: 1" });
    expect(good.code).toBe(0);
    expect(good.stdout).toMatchInlineSnapshot(`
      "CLUSTER  EVER  NOW  SLOTS
      blue     yes   yes      3
      red      yes   yes      3
      "
    `);
    const bad = await busbar("satisfy job.yaml", { "job.yaml": "impossible" });
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatchInlineSnapshot(`
      "CLUSTER  EVER  NOW  WHY NOT
      blue     no    no   there is no gpu; or 2 nodes, 9 requested
      red      no    no   there is no gpu; or 2 nodes, 9 requested
      "
    `);
  });

  test("of several tasks has a section each, and a line for all of them", async () => {
    await register("blue");
    await register("red");
    const { code, stdout } = await busbar("satisfy job.yaml", { "job.yaml": "two" });
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "fit
      CLUSTER  EVER  NOW  SLOTS
      blue     yes   yes      3
      red      yes   yes      3

      score
      CLUSTER  EVER  NOW  SLOTS  WHY NOT
      blue     yes   yes      3
      red      no    no          there is no gpu; or 2 nodes, 9 requested

      can run all 2 tasks: blue
      "
    `);
  });

  test("without clusters prints that", async () => {
    expect(await busbar("satisfy job.yaml", { "job.yaml": "version: 1" })).toEqual({
      code: 1,
      stdout: "there are no clusters\n",
      stderr: "",
    });
  });

  test("sends the text unchanged, a list as a request", async () => {
    await busbar("satisfy a", { a: "version: 1 # as written" });
    await busbar("satisfy a", { a: ' [[{"type": "node"}]]' });
    expect(server().asked.satisfy).toEqual([
      { ask: { case: "jobspec", value: "version: 1 # as written" } },
      { ask: { case: "request", value: ' [[{"type": "node"}]]' } },
    ]);
  });

  test("--select prints which cluster would be chosen and which not", async () => {
    await register("blue");
    await register("red");
    const line = "satisfy a --select constraint --select-options rules.yaml --parameter n=4";
    const { stdout } = await busbar(line, { a: "version: 1" });
    expect(stdout).toContain("\nconstraint selects blue\nnot red: nodes_free > 0: is false\n");
    expect(server().asked.satisfy[0]).toMatchObject({
      strategy: "constraint",
      options: '{"priorities":[{"priority":1,"steps":[{"filter":"nodes_free > 0"}]}]}',
      parameters: { n: 4 },
    });
    expect(await json("satisfy a --select first")).toMatchObject({
      satisfied: true,
      ever: ["blue", "red"],
      selection: { chosen: "blue", dropped: [{ name: "red" }] },
    });
    await busbar("satisfy a --select cheapest --select-options key.json");
    await busbar("satisfy a --select-options rainbow.yaml");
    expect(server().asked.satisfy.slice(-2)).toMatchObject([
      { strategy: "cheapest", options: '{"key":"cost"}' },
      {
        strategy: "constraint",
        options: JSON.stringify({
          priorities: "- priority: 1\n  steps:\n  - select: random\n", // the server reads it
        }),
      },
    ]);
  });

  const wrong: readonly [string, RegExp][] = [
    ["- a: [", /busbar: o.yaml:\d+:\d+: /],
    ["just words", /o.yaml: must be an object of options, or a list of priorities/],
    ["a: 1\n---\nb: 2", /o.yaml:3:1: a second document; give one at a time/],
    ["[".repeat(40), /o.yaml:1:17: is nested more than 16 deep/],
  ];
  for (const [content, message] of wrong) {
    test(`options of ${JSON.stringify(content.slice(0, 20))} are rejected`, async () => {
      const { code, stderr } = await busbar("satisfy a --select-options o.yaml", {
        "o.yaml": content,
      });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  }
});

describe("tasks that a pull cluster runs", () => {
  test("are listed", async () => {
    await register("blue");
    const { stdout } = await busbar("cluster offered blue");
    expect(stdout.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, "  "))).toMatchObject([
      "ID  NAME  WORK  NEEDS  OFFERED",
      expect.stringMatching(/^17 {2}train {2}train --fast {2}cpu 2 {2}/) as string,
      expect.stringMatching(/^18.3 {2}train/) as string,
      "",
    ]);
    expect(await busbar("cluster offered blue --max 1")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("and 1 more; see --max") as string,
    });
    expect(await json("cluster offered blue --max 1")).toMatchObject([
      { id: "17", attempt: 1, spec: { command: ["train", "--fast"] }, offeredAtMs: 990_000 },
    ]);
    expect(await busbar("cluster offered red")).toMatchObject({ code: 1 });
  });

  test("are accepted, and the output names those that were not", async () => {
    expect(await busbar("cluster accept blue 17 18.3")).toEqual(said("17\n18.3"));
    expect(await busbar("cluster accept blue 17 9")).toMatchObject({
      code: 1,
      stdout: "17\n",
      stderr: expect.stringContaining("9 was not accepted: it is running already") as string,
    });
  });

  test("are reported", async () => {
    const line =
      "cluster report blue 17 18.3 --state failed --exit-code 3 --stdout out --attempt 2";
    const told = await busbar(line, { out: "hello" });
    expect(told).toEqual(said("reported 2 tasks"));
    const report = { attempt: 2, state: "failed", exitCode: 3, stdout: "hello" };
    expect(server().asked.reports).toMatchObject([
      { id: "17", ...report },
      { id: "18.3", ...report },
    ]);
    expect((await busbar("cluster report blue 9 --state running")).stderr).toContain(
      "9 is no longer assigned to this cluster: stop it there",
    );
    const { attempt, exitCode, stdout } = server().asked.reports.at(-1) as TaskReport;
    expect([attempt, exitCode, stdout]).toEqual([undefined, undefined, undefined]); // 0 would be an attempt
    expect(await busbar("cluster report blue 9 --state gone")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not one of running, succeeded, failed, returned") as string,
    });
    expect((await busbar("cluster report blue 9")).code).toBe(2);
  });
});
