import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";

const pipeline = fileURLToPath(new URL("../../examples/pipeline.yaml", import.meta.url));

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

interface Shown {
  readonly state: string;
  readonly reason?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
}

/** Runs until a file appears. */
const untilGo = (): string[] => [
  "sh",
  "-c",
  `while [ -d "${site.directory}" ] && [ ! -e "${site.path("go")}" ]; do sleep 0.1; done`,
];

test("the pipeline of the examples runs in its order, and jobs that are not needed are skipped", async () => {
  await site.startServer();
  await site.startAgent("a1", "--cpu", "8");
  const { code, stderr } = await site.run("submit", "--file", pipeline, "--wait");
  expect([code, stderr]).toEqual([0, ""]); // skipped jobs were not needed
  const jobs: Shown[] = [];
  for (const id of ["1", "2", "3", "4", "5"]) jobs.push(await site.json<Shown>("job", id));
  expect(jobs.map(({ state }) => state)).toEqual([
    "succeeded",
    "succeeded",
    "succeeded",
    "skipped",
    "succeeded",
  ]);
  expect(jobs[3]?.reason).toBe("job 2 (work) succeeded; it had to end without success");
  const [prepare, work, sum, , report] = jobs;
  for (const [first, then] of [
    [prepare, work],
    [work, sum],
    [sum, report],
  ] as const) {
    expect(first?.endedAtMs ?? 0).toBeLessThanOrEqual(then?.startedAtMs ?? -1);
  }
  const table = (await site.run("jobs")).stdout;
  expect(table).toMatch(/apologise\s+skipped/);
});

test("the dependencies of a job are explained, survive kill -9, and decide it correctly", async () => {
  const server = await site.startServer();
  await site.startAgent("a1", "--cpu", "8");
  await site.run("submit", "--name", "slow", "--", ...untilGo());
  await site.run("submit", "--name", "next", "--after-ok", "slow", "--", "true");
  await site.run("submit", "--after-not-ok", "next,1", "--after-at-least", "1", "--", "true");
  await site.jobIs("1", "running");
  expect((await site.run("jobs")).stdout).toContain("waits for job 1 (slow) to succeed");
  const explained = (await site.run("explain", "2")).stdout;
  expect(explained).toMatch(/job 2 is pending: it waits for job 1 \(slow\) to succeed/);
  expect(explained).toMatch(/1\s+slow\s+running\s+to succeed\s+not yet/);
  expect((await site.run("job", "3")).stdout).toContain("afternotok 1 of next, 1");
  await server.end("SIGKILL");
  await site.startServer();
  await site.nodeIs("a1", "connected");
  writeFileSync(site.path("go"), "");
  await site.jobIs("2", "succeeded");
  await site.jobIs("3", "skipped");
  const over = await site.run("run", "--after-ok", "3", "--", "echo", "never");
  expect([over.code, over.stdout]).toEqual([1, ""]);
  expect(over.stderr).toContain("job 4 skipped: job 3 (true) was skipped; it had to succeed");
});

test("over REST: a graph in one call, and a cycle that is rejected", async () => {
  await site.startServer();
  const post = (jobs: unknown): Promise<Response> =>
    fetch(`${site.http}/v1/jobs`, {
      method: "POST",
      body: JSON.stringify({ jobs }),
      headers: { "content-type": "application/json" },
    });
  const job = (name: string, on: string) => ({
    name,
    command: ["true"],
    dependsOn: [{ on: [on] }],
  });
  const circle = await post([job("a", "b"), job("b", "a")]);
  expect([circle.status, await circle.text()]).toEqual([422, expect.stringMatching(/a -> b -> a/)]);
  expect((await post([{ name: "a", command: ["true"] }, job("b", "a")])).status).toBe(201);
  const shown = (await (await fetch(`${site.http}/v1/jobs/2`)).json()) as { spec: unknown };
  expect(shown).toMatchObject({
    state: "pending",
    reason: "waits for job 1 (a) to succeed",
    spec: { dependsOn: [{ kind: "afterok", on: ["a"] }] },
    tasks: { skipped: 0 },
  });
  const why = await (await fetch(`${site.http}/v1/jobs/2/explain`)).json();
  expect(why).toMatchObject({
    dependencies: [{ jobId: "1", name: "a", state: "pending", wants: "to succeed", met: false }],
  });
});
