import { existsSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { makeCgroup, removeCgroup, whyNoCgroup } from "../support/real-cgroup.ts";

let site: Site;
let cgroup: string | undefined;
beforeEach(() => {
  site = new Site();
  cgroup = undefined;
});
afterEach(async () => {
  await site.close();
  if (cgroup !== undefined) await removeCgroup(cgroup);
});

/** Skips a block where this machine lacks something, with the reason in its name. */
function describeIf(why: string | undefined, name: string, body: () => void): void {
  if (why === undefined) describe(name, body);
  else describe.skip(`${name} (skipped: ${why})`, body);
}

async function startAgent(...flags: string[]): Promise<void> {
  cgroup = makeCgroup();
  await site.startServer();
  await site.startAgent("a", "--cgroup", cgroup, ...flags);
}

const ALLOCATE = ["sh", "-c", "head -c 300m /dev/zero | tail -n 1 | wc -c"];

describeIf(whyNoCgroup("memory"), "memory", () => {
  test("300 MiB in a task of 32 MiB end it, and every view has the reason", async () => {
    await startAgent();
    const reason = "used more than its memory of 32MiB; ask for more with --memory";
    const { code, stderr } = await site.run("run", "--memory", "32MiB", "--", ...ALLOCATE);
    expect([code, stderr]).toEqual([137, expect.stringContaining(reason)]);
    expect(await site.json("job", "1")).toMatchObject({ state: "failed", exitCode: 137, reason });
    const { tasks } = await site.json<{ tasks: object[] }>("tasks", "1");
    expect(tasks).toMatchObject([{ state: "failed", signal: "SIGKILL", reason }]);
    expect((await site.run("explain", "1")).stdout).toContain(reason);
    expect((await site.run("nodes", "show", "a")).stdout).toContain(
      "memory (enforced=true, by=memory.max)",
    );
    expect((await site.run("run", "--memory", "1GiB", "--", ...ALLOCATE)).code).toBe(0);
  });
});

describeIf(whyNoCgroup("cpu"), "cpu", () => {
  test("a tenth of a cpu is a quota with --enforce cpu", async () => {
    await startAgent("--enforce", "cpu");
    const spin = ["timeout", "2", "sh", "-c", "while :; do :; done"];
    await site.run("run", "--cpu", "0.1", "--", ...spin);
    const { usage } = await site.json<{ usage: { cpuMs: number } }>("job", "1");
    expect(usage.cpuMs).toBeLessThan(600); // of 2 s
  });
});

describeIf(whyNoCgroup(), "ends", () => {
  test("an agent killed with kill -9 ends, when it is back, processes that left session and environment", async () => {
    cgroup = makeCgroup();
    await site.startServer();
    const agent = await site.startAgent("a", "--cgroup", cgroup);
    const pidFile = site.path("pid");
    const hidden = `env -i setsid sh -c 'trap "" TERM; echo $$ >${pidFile}; while :; do sleep 0.05; done' & wait`;
    await site.run("submit", "--kill-grace", "200ms", "--", "sh", "-c", hidden);
    await eventually(() => existsSync(pidFile) && site.lines("pid").length === 1, {
      what: "a pid",
    });
    const pid = Number(site.lines("pid")[0]);
    await agent.end("SIGKILL");
    await site.startAgent("a", "--cgroup", cgroup);
    await site.run("cancel", "1");
    await site.jobIs("1", "cancelled");
    expect(isAlive(pid)).toBe(false);
  });
});

test("a limit that cannot be enforced is rejected, before anything listens", async () => {
  const cgroupOfNobody = site.path("none");
  for (const command of ["agent", "up"]) {
    const flags = ["--enforce", "memory", "--cgroup", cgroupOfNobody, "--data", site.path("d")];
    const { code, stdout, stderr } = await site.run(command, ...flags);
    expect(code).toBe(2);
    expect(stderr).toMatch(/memory cannot be enforced here: .* is not delegated .*Delegate=yes/);
    expect(stdout).not.toContain("gRPC:");
  }
});
