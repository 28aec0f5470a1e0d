import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";

let site: Site;
beforeEach(async () => {
  site = new Site();
  await site.startServer();
  await site.startAgent("a1", "--cpu", "2");
});
afterEach(() => site.close());

const file = (name: string, content: string): string => {
  writeFileSync(site.path(name), content);
  return site.path(name);
};
const jobCount = async (): Promise<number> =>
  (await site.json<{ jobs: unknown[] }>("jobs", "--all")).jobs.length;

const workflow = (): string => `
version: 1
name: words
resources:
  desk: { type: node, count: 1, with: [{ type: core, count: 2 }] }
  core: { type: core, count: 1 }
tasks:
  - name: report
    resources: core
    depends_on: [count]
    script: grep -q sum ${site.path("lines")} && echo report >> ${site.path("lines")}
  - name: collect
    resources: core
    command: [sh, -c, "echo collect >> ${site.path("lines")}"]
groups:
  - name: count
    resources: desk
    depends_on: [collect]
    tasks:
      - name: sum
        resources: core
        script: grep -q collect ${site.path("lines")} && echo sum >> ${site.path("lines")}
`;

test("a jobspec is tried without a trace, and then runs in its order", async () => {
  const path = file("workflow.yaml", workflow());
  const tried = await site.run("submit", "--jobspec", path, "--dry-run");
  expect([tried.code, tried.stderr]).toEqual([0, ""]);
  expect(tried.stdout).toContain(
    "collect: 1 task\n  1 task would start on node a1 of cluster default\n",
  );
  expect(tried.stdout).toContain("would wait: waits for the jobs it depends on");
  expect(await jobCount()).toBe(0);

  const ran = await site.run("submit", "--jobspec", path, "--group", "g", "--wait");
  expect([ran.code, ran.stderr]).toEqual([0, "busbar: created group g, which did not exist\n"]);
  expect(ran.stdout).toBe("job 1 (collect)\njob 2 (count/sum)\njob 3 (report)\n");
  expect(site.lines("lines")).toEqual(["collect", "report", "sum"]);
  const sum = await site.run("job", "2");
  expect(sum.stdout).toMatch(/\nGroup: +g\n.*\nRequest: +1 core\n/s);
});

test("a dry run prints where the tasks of a command would be placed", async () => {
  const line = ["submit", "--dry-run", "--array", "0-4", "--cpu", "1", "--name", "sweep"];
  expect(await site.run(...line, "--", "true")).toEqual({
    code: 0,
    stdout:
      "sweep: 5 tasks\n  2 tasks would start on node a1 of cluster default\n" +
      "  3 tasks would wait: there is free capacity only for tasks that go first\n",
    stderr: "",
  });
  expect(await jobCount()).toBe(0);
});

test("an unsatisfiable jobspec is rejected with the reasons, or pending when that is allowed", async () => {
  const refused = await site.run("submit", "--cpu", "64", "--", "true");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(
    /can run this job: 1 node: too small: has 2 cpu, 64 cpu .*\(--allow-unsatisfiable\)\n$/,
  );
  const tried = await site.run("submit", "--dry-run", "--cpu", "64", "--", "true");
  expect(tried.code).toBe(1);
  expect(tried.stdout).toContain(
    "would be refused: no registered node or cluster can run this job\n",
  );
  const nonsense = await site.run("run", "--require", "os:name=NONSENSE", "--", "true");
  expect(nonsense.code).toBe(1);
  expect(nonsense.stderr).toContain("1 node: no node with os name=NONSENSE. ");
  expect(await jobCount()).toBe(0);

  const allowed = await site.run("submit", "--allow-unsatisfiable", "--cpu", "64", "--", "true");
  expect([allowed.code, allowed.stdout]).toEqual([0, "job 1\n"]);
  const { code, stdout } = await site.run("explain", "1");
  expect(code).toBe(0);
  expect(stdout).toContain(
    "Cheapest change: ask for 2 cpu instead of 64 cpu: node a1 has that free\n",
  );
});

test("a requirement that the node meets lets a job run there", async () => {
  const kernel = "kernel:name=linux,version>=2.6";
  const { code, stdout } = await site.run("run", "--require", kernel, "--", "echo", "here");
  expect([code, stdout]).toEqual([0, "here\n"]);
  const old = await site.run("run", "--require", "kernel:version<=2.6", "--", "true");
  expect(old.code).toBe(1);
  expect(old.stderr).toContain("no node with kernel version <= 2.6");
});

test("a server with an invalid selection flag does not start", async () => {
  const server = (...flags: string[]) =>
    site.run("server", "--data", site.path("other"), "--grpc", "127.0.0.1:0", ...flags);
  expect(await server("--select", "chepest")).toEqual({
    code: 2,
    stdout: "",
    stderr: 'busbar: --select: "chepest" is not a strategy; did you mean cheapest?\n',
  });
  const rules = file("rules.yaml", "priorities: |\n  - priority: 1\n    steps: [{ filtr: a }]\n");
  const { code, stderr } = await server("--select-options", rules);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "busbar: --select-options: priorities[0].steps[0]: line 2, column 11: " +
      '"filtr" is not a step; did you mean filter?\n',
  );
});
