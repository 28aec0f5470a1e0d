import { renameSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
afterEach(() => site.close());

test("a backup of a running server, restored while an agent has runs that the backup does not know", async () => {
  site = new Site();
  const server = await site.startServer();
  await site.startAgent("a1", "--cpu", "4");
  const submit = async (): Promise<string> => {
    const command = ["sh", "-c", `echo $BUSBAR_JOB_ID $$ >>${site.path("pids")}; exec sleep 600`];
    const { jobs } = await site.client.submitJobs({ jobs: [{ spec: { command } }] });
    const id = jobs[0]?.id ?? "";
    await eventually(() => pidOf(id) > 0, { what: `job ${id} to run`, timeoutMs: 60_000 });
    await site.jobIs(id, "running");
    return id;
  };
  const pidOf = (id: string): number =>
    Number(
      site
        .lines("pids")
        .find((line) => line.startsWith(`${id} `))
        ?.split(" ")[1] ?? 0,
    );
  const before = await submit();
  const backup = site.path("backup");
  const saved = await site.json<{ rows: number }>("backup", backup);
  expect(saved.rows).toBeGreaterThan(0);
  const overHttp = await fetch(`${site.http}/v1/backup`);
  expect(overHttp.status).toBe(200);
  expect((await overHttp.arrayBuffer()).byteLength).toBeGreaterThan(4096);
  const after = await submit();
  await server.end("SIGKILL");

  const { code: isThere } = await site.run("restore", backup, "--data", site.path("data"));
  expect(isThere).toBe(2); // it is not empty
  const renamed = site.path("old");
  renameSync(site.path("data"), renamed);
  const flags = ["--data", site.path("data"), "--replaces", renamed];
  const restored = await site.json<{ isExact: boolean }>("restore", backup, ...flags);
  expect(restored.isExact).toBe(true);

  const again = await site.startServer();
  await again.prints(/the agent stops runs of jobs that this server does not have/);
  await eventually(() => !isAlive(pidOf(after)), {
    what: `job ${after} to stop`,
    timeoutMs: 60_000,
  });
  expect(isAlive(pidOf(before))).toBe(true); // it continues
  await site.jobIs(before, "running");
  const { jobs } = await site.client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
  expect(Number(jobs[0]?.id)).toBe(Number(after) + 1);
}, 180_000);
