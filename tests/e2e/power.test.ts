import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import type { JobRow, TaskRow } from "../../src/cli/rows.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

const jobOf = (id: string) => site.json<JobRow>("job", id);
const sharesOf = (id: string) => site.json<{ tasks: TaskRow[] }>("tasks", id);

test("a job with energy is split over agents with power; the reported energy of a vanished one counts", async () => {
  site = new Site();
  await site.startServer("--heartbeat", "500ms", "--silence", "2s", "--node-lost-after", "4s");
  const first = await site.startAgent("a1", "--power", "100W");
  writeFileSync(site.path("power"), "0s 300W # at first\n100h 20W\n");
  await site.startAgent("a2", "--power-schedule", site.path("power"));
  expect((await site.run("nodes")).stdout).toMatch(/POWER[\s\S]*100 W[\s\S]*300 W/);

  // On a1 it reports a half and continues for ever; on a2 it ends.
  const script = `echo "$BUSBAR_NODE $BUSBAR_SHARE_WATT_SECONDS" >> "${site.path("shares")}"
[ "$BUSBAR_NODE" = a2 ] && exit 0
echo 50 > "$BUSBAR_PROGRESS_FILE"
while [ -d "${site.directory}" ]; do sleep 0.1; done`;
  writeFileSync(site.path("script"), script);
  const flags = ["--energy", "400Ws", "--least-share", "1Ws", "--script", site.path("script")];
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...flags);
  const id = jobs[0]?.id ?? "";
  const done = async () => (await jobOf(id)).energy?.doneWattSeconds;
  await eventually(async () => (await done()) === 350, { what: "300 Ws of a2, 50 of a1" });
  const table = (await site.run("job", id)).stdout;
  expect(table).toMatch(/Energy: +400 Ws: 350 done, 50 in shares/);
  expect(table).toMatch(/Progress: +87.5 %/);
  expect(table).toMatch(/a1 +100 Ws/);

  await first.end("SIGKILL");
  await eventually(async () => (await jobOf(id)).state === "succeeded", {
    what: "the rest to be done by a2",
    timeoutMs: 60_000,
  });
  expect(site.lines("shares").toSorted()).toEqual(["a1 100", "a2 300", "a2 50"]);
  const { tasks } = await sharesOf(id);
  const rows = tasks.map(({ state, share }) => [state, share?.wattSeconds, share?.doneWattSeconds]);
  expect(rows).toEqual(
    expect.arrayContaining([
      ["failed", 100, 50],
      ["succeeded", 300, 300],
      ["succeeded", 50, 50],
    ]),
  );
  const ended = await jobOf(id);
  expect(ended).toMatchObject({ taskTotal: 3, exitCode: 0, progress: { percent: 100 } });
  expect(ended.endedAtMs).toBe(Math.max(...tasks.map(({ endedAtMs = 0 }) => endedAtMs)));
});

test("without a command a job is pending for edges that need none, with the reason; with no energy it has succeeded", async () => {
  site = new Site();
  await site.startServer();
  await site.startAgent("a1", "--power", "100W");
  const refused = await site.run("submit", "--energy", "10Ws");
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("runs only shares with a command");
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", "--energy", "0", "--wait");
  expect(jobs).toMatchObject([{ exitCode: 0 }]);
  expect(await jobOf(jobs[0]?.id ?? "")).toMatchObject({ state: "succeeded", taskTotal: 0 });
  const post = (energy: object): Promise<Response> =>
    fetch(`${site.http}/v1/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jobs: [{ energy }] }),
    });
  expect(await (await post({ wattSeconds: 0 })).text()).toContain("revision");
  expect(await (await post({})).text()).toContain("wattSeconds");
});
