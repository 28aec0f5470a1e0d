import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
let mounted: string | undefined;
beforeEach(() => {
  site = new Site();
  mounted = undefined;
});
afterEach(async () => {
  // Lazily: launchers may still hold it open.
  if (mounted !== undefined) execFileSync("umount", ["-l", mounted]);
  await site.close();
});

/** A disk of 8 MiB for the agent; undefined: this user may not mount one. */
function mountSmall(directory: string): string | undefined {
  mkdirSync(directory);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", directory], {
      stdio: "ignore",
    });
    return directory;
  } catch {
    return undefined;
  }
}

async function submit(...args: string[]): Promise<string> {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
}

interface Task {
  readonly state: string;
  readonly past?: readonly { readonly node?: string; readonly reason: string }[];
}

/** Jobs that print something, beside a healthy node, while `sick` cannot start processes. */
async function runBesideSick(why: string): Promise<void> {
  const many = await submit("--array", "0-59", "--", "sh", "-c", "echo hello; sleep 0.05");
  await site.nodeIs("sick", "unhealthy");
  const only = await submit("--node", "sick", "--", "echo", "later");
  await site.jobIs(many, "succeeded");
  const { tasks } = await site.json<{ tasks: Task[] }>("tasks", many);
  expect(tasks.map(({ state }) => state)).toEqual(Array.from({ length: 60 }, () => "succeeded"));
  const returned = tasks.flatMap(({ past = [] }) => past);
  expect(returned.length).toBeGreaterThan(0);
  for (const { node, reason } of returned) {
    expect(node).toBe("sick");
    expect(reason).toContain("its node could not start it");
  }

  const nodes = (await site.run("nodes")).stdout;
  expect(nodes).toMatch(new RegExp(`sick .*unhealthy.*${why}`));
  expect((await site.run("nodes", "show", "sick")).stdout).toContain(why);
  const { stdout: explanation } = await site.run("explain", only);
  expect(explanation).toContain("unhealthy");
  expect(explanation).toContain(why);
  const shown = (await (await fetch(`${site.http}/v1/nodes/sick`)).json()) as object;
  expect(shown).toMatchObject({ state: "unhealthy", sickness: expect.stringContaining(why) });
  const metrics = await (await fetch(`${site.http}/metrics`)).text();
  expect(metrics).toContain('busbar_nodes{state="unhealthy"} 1');
}

/** The node recovers by itself, and the tasks that waited for it run. */
async function runAfterRepair(): Promise<void> {
  await site.nodeIs("sick", "connected");
  const id = await submit("--node", "sick", "--", "echo", "again");
  await site.jobIs(id, "succeeded");
  expect((await site.run("logs", id)).stdout).toBe("again\n");
  const stats = await site.json<{ tasks: Record<string, number> }>("stats");
  expect(stats.tasks["failed"] ?? 0).toBe(0);
}

/** Also while its agent writes to it, as at its start: rmSync then stops half-way, without an error. */
async function removeDirectory(path: string): Promise<void> {
  await eventually(
    () => {
      rmSync(path, { recursive: true, force: true });
      return !existsSync(path);
    },
    { what: "the data directory to be gone" },
  );
}

/** Fills a disk, also the space that others free in the first second: agents probe when they start. */
async function fill(directory: string, file: string): Promise<void> {
  let fullFor = 0;
  await eventually(
    () => {
      const { bsize, bavail } = statfsSync(directory);
      fullFor = bavail === 0 ? fullFor + 1 : 0;
      try {
        if (bavail > 0) appendFileSync(file, Buffer.alloc(bsize * bavail));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      }
      return fullFor > 100;
    },
    { what: "a full disk" },
  );
}

describe("an unhealthy node beside a healthy one", () => {
  test("its data directory is deleted while tasks run: no task fails, and it recovers", async () => {
    await site.startServer();
    await site.startAgent("well", "--cpu", "4");
    await site.startAgent("sick", "--cpu", "4");
    const before = await submit("--node", "sick", "--", "sleep", "2");
    await site.jobIs(before, "running");
    await removeDirectory(site.path("agent-sick"));
    await runBesideSick("the data directory is missing");
    mkdirSync(site.path("agent-sick"));
    await runAfterRepair();
    await site.jobIs(before, "succeeded");
  });

  test("its agent is the same after a restart over the new directory", async () => {
    await site.startServer();
    const agent = await site.startAgent("sick");
    await removeDirectory(site.path("agent-sick"));
    const id = await submit("--", "true");
    await site.nodeIs("sick", "unhealthy");
    mkdirSync(site.path("agent-sick"));
    await site.jobIs(id, "succeeded");
    await agent.end("SIGTERM");
    await site.nodeIs("sick", "disconnected");
    await site.startAgent("sick");
  });

  test("its disk fills up: no task fails, and it recovers", async ({ skip }) => {
    mounted = mountSmall(site.path("agent-sick"));
    if (mounted === undefined) skip("nobody may mount a tmpfs here");
    await site.startServer();
    await site.startAgent("well", "--cpu", "4");
    await site.startAgent("sick", "--cpu", "4");
    const big = join(site.path("agent-sick"), "big");
    await fill(site.path("agent-sick"), big);
    await runBesideSick("the disk is full");
    rmSync(big);
    await runAfterRepair();
  });
});
