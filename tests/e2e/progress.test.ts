import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import type { TaskRow } from "../../src/cli/rows.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

const busbar = fileURLToPath(new URL("../../busbar", import.meta.url));

let site: Site;
afterEach(() => site.close());

async function submit(...args: string[]): Promise<string> {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
}

const until = (name: string): string =>
  `while [ -d "${site.directory}" ] && [ ! -e "${site.path(name)}" ]; do sleep 0.1; done`;
const go = (name: string): void => writeFileSync(site.path(name), "");

const progressOf = async (id: string) => (await site.client.getTask({ id })).progress;

const comes = (id: string, percent: number): Promise<true> =>
  eventually(async () => (await progressOf(id).catch(() => undefined))?.percent === percent, {
    what: `${percent} % of ${id}`,
    timeoutMs: 60_000,
  });

test("a task reports its progress in three ways, through kill -9 of server and agent", async () => {
  site = new Site();
  const server = await site.startServer();
  const agent = await site.startAgent("a1", "--cpu", "4");
  const script = `echo "10 by a file" > "$BUSBAR_PROGRESS_FILE"
${until("a")}
"${busbar}" progress 20.5 by a command || exit 3
${until("b")}
echo "40 without a server" > "$BUSBAR_PROGRESS_FILE"
${until("c")}
echo "60 without an agent" > "$BUSBAR_PROGRESS_FILE"
${until("d")}
echo "70 its last word" > "$BUSBAR_PROGRESS_FILE"
exit 5`;
  const id = await submit("--", "sh", "-c", script);
  await comes(id, 10);
  go("a");
  await comes(id, 20.5);

  const said = await site.run("progress", "30", "by", "the", "API", "--task", id, "--attempt", "1");
  expect(said.stdout).toBe(`task ${id} is at 30 % by the API\n`);
  const late = await site.run("progress", "35", "--task", id, "--attempt", "2");
  expect(late).toMatchObject({ code: 1 });
  expect(late.stderr).toContain(`attempt 2 of task ${id} is not its current one, which is 1`);
  const rest = await fetch(`${site.http}/v1/tasks/${id}/progress`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ percent: 35, message: "by REST" }),
  });
  expect(await rest.json()).toMatchObject({ progress: { percent: 35, message: "by REST" } });
  expect((await site.run("job", id)).stdout).toMatch(/Progress: +35 % by REST/);
  expect((await site.run("tasks", id)).stdout).toMatch(/35 % by REST/);

  await server.end("SIGKILL");
  go("b");
  await site.startServer();
  expect((await progressOf(id))?.percent).toBeGreaterThanOrEqual(35);
  await comes(id, 40); // the agent sends the newest again

  await agent.end("SIGKILL");
  go("c");
  await eventually(async () => (await progressOf(id))?.percent === 40, { what: "as it was" });
  await site.startAgent("a1", "--cpu", "4");
  await comes(id, 60);
  go("d");
  await site.jobIs(id, "failed");
  const task = await site.json<TaskRow>("job", `${id}.0`);
  expect(task).toMatchObject({
    attempt: 1,
    exitCode: 5,
    progress: { percent: 70, message: "its last word" },
  });
});

test(
  "100,000 lines of progress are a few messages and a few commits",
  { timeout: 180_000 },
  async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1", "--cpu", "4");
    const script = `i=0
while [ $i -lt 100000 ]; do i=$((i+1)); echo "$((i/1000)) line $i" > "$BUSBAR_PROGRESS_FILE"; done`;
    const startedMs = performance.now();
    const id = await submit("--", "sh", "-c", script);
    await eventually(async () => (await site.client.getTask({ id })).endedAtMs !== undefined, {
      what: "the end",
      timeoutMs: 150_000,
    });
    const seconds = (performance.now() - startedMs) / 1_000;
    expect(await progressOf(id)).toMatchObject({ percent: 100, message: "line 100000" });
    const stats = await site.client.getStats({});
    const reports = Object.values(stats.progressReports).reduce((sum, one) => sum + Number(one), 0);
    expect(reports).toBeLessThanOrEqual(seconds + 2);
    expect(Number(stats.commits)).toBeLessThanOrEqual(seconds + 20);
  },
);

test("a command outside of a task needs the name of one", async () => {
  site = new Site();
  const { code, stderr } = await site.run("progress", "40");
  expect(code).toBe(2);
  expect(stderr).toContain("name a task with --task");
});
