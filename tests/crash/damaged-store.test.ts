import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

test("a job row that is gone though its tasks are there: refused as damaged, with what to do", async () => {
  site = new Site();
  const server = await site.startServer();
  await site.startAgent("a1", "--cpu", "2");
  const { jobs } = await site.client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
  await site.jobIs(jobs[0]?.id ?? "", "succeeded");
  await server.end("SIGKILL");
  const db = new DatabaseSync(join(site.path("data"), "busbar.db"));
  const { changes } = db.prepare("DELETE FROM rows WHERE key LIKE 'job/%'").run();
  expect(changes).toBe(1);
  db.close();
  const again = site.start([
    "server",
    "--data",
    site.path("data"),
    "--http",
    "127.0.0.1:0",
    "--grpc",
    "127.0.0.1:0",
  ]);
  expect(await again.end()).toBe(1);
  expect(again.output).toMatch(/busbar\.db is damaged: .*restore it from a backup/);
});
