import { afterEach, beforeEach, expect, test } from "vitest";

import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

/**
 * Fails soon after its start where BAD is set, as on a machine that lacks a library. Elsewhere it succeeds sooner than that, so that a slow
 * machine does not delay the evidence for the jobs.
 */
const LACKING = ["sh", "-c", 'if [ -n "$BAD" ]; then sleep 0.3; exit 9; fi; sleep 0.05'];

async function submit(...args: string[]): Promise<string> {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
}

/** Two nodes; one fails every task that checks BAD. */
async function startTwo(...flags: string[]): Promise<void> {
  await site.startServer(...flags);
  await site.startAgent("well", "--cpu", "2");
  await site.startAgent("bad", "--cpu", "2", "--task-env", "BAD=1");
}

async function submitMany(count: number): Promise<void> {
  const jobs = Array.from({ length: count }, () => ({
    spec: { command: LACKING, name: "lacking", group: "default" },
  }));
  await site.client.submitJobs({ jobs });
}

async function ends(count: number): Promise<Record<string, number>> {
  return eventually(
    async () => {
      const { tasks } = await site.json<{ tasks: Record<string, number> }>("stats");
      const over = (tasks["succeeded"] ?? 0) + (tasks["failed"] ?? 0);
      return over === count ? tasks : undefined;
    },
    { what: `${count} jobs to end`, timeoutMs: 60_000 },
  );
}

test("a node on which different jobs fail at once gets no more of them, until it is undrained", async () => {
  await startTwo("--quarantine-for", "10m", "--quarantine-quick", "5s");
  await submitMany(100);
  await site.nodeIs("bad", "quarantined");
  const tasks = await ends(100);
  // Five are enough; tasks on their way may fail too.
  expect(tasks["failed"]).toBeGreaterThanOrEqual(5);
  expect(tasks["failed"]).toBeLessThanOrEqual(12);

  expect((await site.run("nodes")).stdout).toMatch(/bad .*quarantined.*jobs in a row failed here/);
  const only = await submit("--node", "bad", "--", "true");
  const { stdout } = await site.run("explain", only);
  expect(stdout).toContain("quarantined");
  const shown = (await (await fetch(`${site.http}/v1/nodes/bad`)).json()) as object;
  expect(shown).toMatchObject({
    state: "quarantined",
    quarantine: expect.stringContaining("within 5000 ms of their start"),
  });

  expect((await site.run("nodes", "undrain", "bad")).code).toBe(0);
  await site.nodeIs("bad", "connected");
  await site.jobIs(only, "succeeded");
});

test("after the wait one task is tried: a success releases the node", async () => {
  await startTwo("--quarantine-after", "3", "--quarantine-for", "1s");
  await submitMany(60);
  await site.nodeIs("bad", "quarantined");
  await ends(60);
  const trial = await submit("--node", "bad", "--", "true");
  await site.jobIs(trial, "succeeded");
  await site.nodeIs("bad", "connected");
});

test("a job that fails everywhere quarantines no node", async () => {
  await startTwo();
  const poison = await submit("--array", "0-39", "--retries", "1", "--", "false");
  await site.jobIs(poison, "failed");
  for (const name of ["well", "bad"]) await site.nodeIs(name, "connected");
});

test("--quarantine-after 0 quarantines no node, and 1 is rejected", async () => {
  await startTwo("--quarantine-after", "0");
  await submitMany(60);
  const { failed = 0 } = await ends(60);
  expect(failed).toBeGreaterThanOrEqual(5);
  await site.nodeIs("bad", "connected");
  const { code, stderr } = await site.run("server", "--quarantine-after", "1");
  expect([code, stderr]).toEqual([2, expect.stringContaining("write 2 or more")]);
});

test("an attempt without an exit code has none in any door", async () => {
  await site.startServer();
  await site.startAgent("a");
  const cancelled = await submit("--", "sleep", "1000");
  await site.jobIs(cancelled, "running");
  await site.run("cancel", cancelled);
  await site.jobIs(cancelled, "cancelled");
  expect((await site.client.getJob({ id: cancelled })).exitCode).toBeUndefined();
  const rest = (await (await fetch(`${site.http}/v1/jobs/${cancelled}`)).json()) as object;
  expect(rest).not.toHaveProperty("exitCode");
  expect(await site.json("job", cancelled)).not.toHaveProperty("exitCode");
  const { tasks } = await site.json<{ tasks: object[] }>("tasks", cancelled);
  expect(tasks[0]).not.toHaveProperty("exitCode");
  expect((await site.run("job", cancelled)).stdout).not.toContain("Exit code");
  const failed = await submit("--", "sh", "-c", "exit 3");
  await site.jobIs(failed, "failed");
  expect((await site.client.getJob({ id: failed })).exitCode).toBe(3);
  expect((await site.run("explain", failed)).stdout).toContain("exited with code 3");
});
