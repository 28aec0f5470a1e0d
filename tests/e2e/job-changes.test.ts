import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Site } from "../support/busbar.ts";

// Changes of submitted jobs, by the command line, with real processes.

let site: Site;
beforeAll(async () => {
  site = new Site();
  await site.startServer();
  await site.startAgent("n1", "--cpu", "2");
}, 60_000);
afterAll(() => site.close());

interface Submitted {
  readonly jobs: readonly { readonly id: string }[];
}
const idOf = ({ jobs }: Submitted): string => jobs[0]?.id ?? "";
const submit = async (...args: string[]): Promise<string> =>
  idOf(await site.json<Submitted>("submit", ...args));

test("a job is held, updated and released; a group is paused and resumed", async () => {
  await site.run("groups", "set", "night");
  expect((await site.run("groups", "pause", "night")).stdout).toBe("group night is paused\n");
  expect(await site.run("groups", "pause", "nosuch")).toMatchObject({ code: 1 });
  const id = await submit("--group", "night", "--name", "train", "--", "true");
  expect((await site.run("job", id)).stdout).toContain("group night is paused by");
  expect((await site.run("hold", id, "--reason", "no input yet")).stdout).toBe(
    `job ${id} (train) is on hold\n`,
  );
  expect(await site.run("groups", "resume", "night")).toMatchObject({ code: 0 });
  expect((await site.run("explain", id)).stdout).toContain("1 task waits: on hold: no input yet");
  const shown = await site.json("job", id);
  expect(shown).toMatchObject({ state: "pending", heldTasks: 1, reason: "on hold: no input yet" });
  expect((await site.run("update", id)).code).toBe(2);
  const limit = ["update", id, "--priority", "7", "--time-limit", "1h"];
  expect(await site.run(...limit)).toMatchObject({ code: 0, stderr: "" });
  const stale = await site.run("release", id, "--if-revision", String(shown["revision"]));
  expect(stale).toMatchObject({ code: 1 });
  expect(await site.run("release", id)).toMatchObject({ code: 0 });
  expect(await site.run("wait", id)).toMatchObject({ code: 0 });
  expect(await site.json("job", id)).toMatchObject({
    spec: { priority: 7, timeLimitMs: 3_600_000, group: "night" },
  });
}, 60_000);

test("a running task is requeued: it stops, and runs again", async () => {
  const mark = site.path("runs.txt");
  const script = `echo began >> ${mark}; trap 'echo stopped >> ${mark}; exit 1' TERM; [ $(grep -c began ${mark}) = 2 ] || while :; do sleep 0.05; done`;
  const id = await submit("--", "sh", "-c", script);
  await eventually(() => site.lines("runs.txt").length > 0, { what: "the task to begin" });
  expect((await site.run("requeue", id, "--reason", "once more")).code).toBe(0);
  expect(await site.run("wait", id)).toMatchObject({ code: 0 });
  expect(readFileSync(mark, "utf8")).toBe("began\nstopped\nbegan\n");
  expect(await site.client.getTask({ id })).toMatchObject({
    attempt: 2,
    past: [{ attempt: 1, reason: "once more" }],
  });
}, 60_000);

test("a job is rerun, or its failed tasks alone, or from its printed spec", async () => {
  const id = await submit("--array", "0-5", "--", "sh", "-c", "exit $((BUSBAR_ARRAY_INDEX % 2))");
  expect((await site.run("wait", id)).code).toBe(1);
  const again = await site.json<Submitted>("rerun", id, "--failed");
  expect(await site.client.getJob({ id: idOf(again) })).toMatchObject({ spec: { array: "1-5:2" } });
  expect((await site.run("rerun", id, "--wait")).code).toBe(1);
  const several = await site.run("rerun", id, "999", id, "--quiet");
  expect(several).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\d+\n\d+\n$/) });
  expect(several.stderr).toContain("there is no job 999");
  const file = site.path("shown.json");
  writeFileSync(file, (await site.run("--output", "json", "job", id)).stdout);
  const copy = await site.client.getJob({ id: await submit("-f", file) });
  expect(copy.spec).toEqual((await site.client.getJob({ id })).spec);
}, 60_000);

test("a wait for a job that fails prints the reason, the end of its output and the next command", async () => {
  const script = "echo no such file >&2; exit 3";
  const { code, stdout, stderr } = await site.run("submit", "--wait", "--", "sh", "-c", script);
  const id = /job (\d+)/.exec(stdout)?.[1] ?? "";
  expect([code, stderr]).toEqual([
    1,
    `busbar: job ${id} (sh) failed: exited with code 3\nbusbar:   no such file\n` +
      `busbar: see busbar logs ${id} --stderr; run it again with busbar rerun ${id}\n`,
  ]);
}, 60_000);

test("jobs are cancelled by state, label and group", async () => {
  const ids = [];
  for (const run of ["1", "2"]) {
    ids.push(await submit("--begin", "1h", "--label", `run=${run}`, "--group", "c", "--", "true"));
  }
  expect((await site.run("cancel", "--label", "run=2")).stdout).toBe(
    `job ${ids[1]} (true) is cancelled\n`,
  );
  expect((await site.run("cancel", "--group", "c", "--state", "pending")).stdout).toBe(
    `job ${ids[0]} (true) is cancelled\n`,
  );
  expect((await site.run("cancel", "--group", "c")).stdout).toBe("no job matches\n");
}, 60_000);

test("a job that is submitted on hold starts when it is released", async () => {
  const mark = site.path("held-mark");
  const id = await submit("--hold", "--name", "held", "--", "sh", "-c", `echo ran > ${mark}`);
  const later = await submit("--", "true");
  expect((await site.run("wait", later)).code).toBe(0);
  expect(await site.json("job", id)).toMatchObject({ state: "pending", heldTasks: 1 });
  expect((await site.run("submit", "--dry-run", "--hold", "--", "true")).stdout).toContain(
    "1 task would wait: it would be on hold",
  );
  expect((await site.run("release", id)).code).toBe(0);
  expect((await site.run("wait", id)).code).toBe(0);
  expect(readFileSync(mark, "utf8")).toBe("ran\n");
}, 60_000);

test("jobs and jobspecs are submitted on hold over REST", async () => {
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await fetch(`${site.http}${path}`, init)).json();
  };
  const one = (await post("/v1/jobs", { command: ["true"], hold: true })) as { id: string };
  const jobs = [
    { command: ["true"], hold: true },
    { command: ["true"], hold: false },
  ];
  const [held, free] = ((await post("/v1/jobs", { jobs })) as Submitted).jobs;
  const jobspec = JSON.stringify({
    version: 1,
    resources: { f: { type: "core", count: 1 } },
    tasks: [{ name: "f", command: ["true"], resources: "f" }],
  });
  const whole = (await post("/v1/jobspecs", { jobspec, hold: true })) as Submitted;
  expect((await site.run("wait", free?.id ?? "")).code).toBe(0);
  for (const id of [one.id, held?.id ?? "", idOf(whole)]) {
    expect(await site.json("job", id)).toMatchObject({ state: "pending", heldTasks: 1 });
    await site.run("cancel", id);
  }
}, 60_000);

test("#SBATCH --output sends both streams of a script to one file, also of busbar run, which says so", async () => {
  const script = site.path("both.sh");
  const file = site.path("both-%x-%j.out");
  writeFileSync(
    script,
    `#!/bin/sh\n#SBATCH -J both --time=UNLIMITED --output=${file}\necho out\necho err >&2\n`,
  );
  const ran = await site.run("run", "--script", script);
  expect(ran).toMatchObject({ code: 0, stdout: "" });
  expect(ran.stderr).toContain(
    `standard output goes to ${site.path("both-both-%j.out")} on the node`,
  );
  const [newest] = (await site.client.listJobs({ pageSize: 1 })).jobs;
  expect(readFileSync(site.path(`both-both-${newest?.id}.out`), "utf8")).toBe("out\nerr\n");
}, 60_000);

test("scripts have arguments and directives, and tasks their entries", async () => {
  const script = site.path("step.sh");
  writeFileSync(
    script,
    '#!/bin/sh\n#SBATCH -J step --partition=x\n#BUSBAR --cpu 0.5\necho "$# $1"\n',
  );
  const ran = await site.run("submit", "--script", script, "--wait", "--", "a b", "c");
  expect(ran.stderr).toContain("#SBATCH --partition of the script is ignored");
  const id = /job (\d+)/.exec(ran.stdout)?.[1] ?? "";
  expect((await site.run("logs", id)).stdout).toBe("2 a b\n");
  expect(await site.client.getJob({ id })).toMatchObject({
    spec: { name: "step", resources: { cpu: 0.5 }, args: ["a b", "c"] },
  });
  const lines = site.path("lines.txt");
  writeFileSync(lines, "one\ntwo words\n");
  const each = await submit("--each-line", lines, "--", "sh", "-c", 'echo "$BUSBAR_ENTRY"');
  expect((await site.run("wait", each)).code).toBe(0);
  expect((await site.run("logs", `${each}.1`)).stdout).toBe("two words\n");
  const json = site.path("entries.json");
  writeFileSync(json, '[{"x": 1}, 2]');
  const from = await submit("--from-json", json, "--", "sh", "-c", 'echo "$BUSBAR_ENTRY"');
  expect((await site.run("wait", from)).code).toBe(0);
  expect((await site.run("logs", `${from}.0`)).stdout).toBe('{"x":1}\n');
  const later = await submit("--begin", "1h", "--", "true");
  expect((await site.run("explain", later)).stdout).toMatch(/1 task waits: not before 20\d\d-/);
  await site.run("cancel", later);
}, 60_000);
