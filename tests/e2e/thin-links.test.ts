import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { Relay } from "../../src/testing/relay.ts";

let site: Site;
let relay: Relay;
afterEach(async () => {
  await relay.close();
  await site.close();
});

/** A server, and an agent that reaches it over a relay. */
async function start(...agentFlags: string[]): Promise<void> {
  site = new Site();
  await site.startServer();
  relay = await Relay.start(site.server);
  const name = ["--name", "edge", "--data", site.path("edge"), "--cpu", "200", "--no-discovery"];
  site.start(["agent", "--server", relay.address, ...name, ...agentFlags]);
  await site.nodeIs("edge", "connected");
}

/** A script of so many bytes that hardly compress, and that prints that it has started. */
function aScript(bytes: number): string {
  const rest = randomBytes(Math.ceil((bytes * 3) / 4))
    .toString("base64")
    .slice(0, bytes);
  return `echo "$BUSBAR_TASK_ID" >>"${site.path("started")}"; exit 0\n# ${rest}\n`;
}

async function submit(...scripts: string[]): Promise<string[]> {
  const jobs = scripts.map((script) => ({ spec: { script } }));
  const response = await site.client.submitJobs({ jobs });
  return response.jobs.map(({ id }) => id);
}

const startedAre = (count: number): Promise<unknown> =>
  eventually(() => site.lines("started").length >= count, {
    what: () => `${count} tasks to start, not ${site.lines("started").length}`,
    timeoutMs: 60_000,
  });

test("a script that takes long to arrive starts, a small job behind it starts first, in one session", async () => {
  await start();
  relay.set({ downBytesPerSecond: 64_000 });
  const before = relay.carried("down");
  const [large = ""] = await submit(aScript(500_000));
  await eventually(() => relay.carried("down") - before > 60_000, { what: "a part of the script" });
  const [small = ""] = await submit(aScript(10));
  await site.jobIs(small, "succeeded");
  expect(site.lines("started")).toEqual([small]);
  expect(relay.carried("down") - before).toBeLessThan(400_000);
  relay.set({ downBytesPerSecond: 300_000 });
  await site.jobIs(large, "succeeded");
  expect(relay.dials).toBe(1);
  expect(relay.carried("down") - before).toBeLessThan(1.2 * 500_000);
});

test("each of 100 jobs with scripts of 10 kB starts as soon as it has arrived", async () => {
  await start();
  const scripts = Array.from({ length: 100 }, () => aScript(10_000));
  const before = relay.carried("down");
  relay.set({ downBytesPerSecond: 128_000 });
  await submit(...scripts);
  await startedAre(1);
  expect(relay.carried("down") - before).toBeLessThan(200_000);
  await startedAre(10);
  expect(relay.carried("down") - before).toBeLessThan(400_000);
  await startedAre(100);
  expect(relay.carried("down") - before).toBeLessThan(1.3 * 100 * 10_000);
});

test("a script whose link is cut continues where it was, and an array's comes once", async () => {
  await start();
  relay.set({ downBytesPerSecond: 150_000 });
  const before = relay.carried("down");
  writeFileSync(site.path("script"), aScript(400_000));
  const args = ["submit", "--array", "0-19", "--script", site.path("script")];
  const job = await site.json<{ jobs: { id: string }[] }>(...args);
  for (const cutAt of [100_000, 200_000, 300_000]) {
    await eventually(() => relay.carried("down") - before > cutAt, { what: `${cutAt} bytes` });
    relay.reset();
  }
  await startedAre(20);
  await site.jobIs(job.jobs[0]?.id ?? "", "succeeded");
  expect(relay.dials).toBe(4);
  expect(relay.carried("down") - before).toBeLessThan(1.5 * 400_000);
});

/** A job that has written so many bytes, which compress to two thirds. */
async function written(bytes: number): Promise<string> {
  const script = `head -c ${(bytes * 3) / 4} /dev/urandom | base64 -w 0`;
  const [id = ""] = await submit(script);
  await site.jobIs(id, "succeeded");
  return id;
}

test("readers share a thin link and get everything, and a job beside them is quick", async () => {
  await start();
  const ids = await Promise.all([written(300_000), written(300_000), written(300_000)]);
  relay.set({ upBytesPerSecond: 64_000, downBytesPerSecond: 64_000 });
  const before = relay.carried("up");
  const readers = ids.map((id) => site.run("logs", id));
  await eventually(() => relay.carried("up") - before > 60_000, { what: "some output" });
  const atSubmit = relay.carried("up");
  const done = await site.run("submit", "--wait", "--", "true");
  expect(done.code).toBe(0);
  // While it was submitted, started and reported, the link carried few bytes of the outputs.
  expect(relay.carried("up") - atSubmit).toBeLessThan(300_000);
  relay.set({ upBytesPerSecond: 200_000 });
  for (const reader of readers) {
    const { code, stdout, stderr } = await reader;
    expect({ code, stderr, bytes: stdout.length }).toEqual({ code: 0, stderr: "", bytes: 300_000 });
  }
  expect(relay.dials).toBe(1);
  // Base64 has six bits in a byte.
  expect(relay.carried("up") - before).toBeLessThan(0.9 * 900_000);
});

test("a reader continues where it was after the link was cut, and so do followers", async () => {
  await start();
  const id = await written(600_000);
  relay.set({ upBytesPerSecond: 150_000 });
  const before = relay.carried("up");
  const readers = [site.run("logs", id), site.run("logs", "--follow", id)];
  for (const cutAt of [200_000, 500_000]) {
    await eventually(() => relay.carried("up") - before > cutAt, { what: `${cutAt} bytes` });
    relay.reset();
  }
  const [one, two] = await Promise.all(readers);
  expect({ code: one?.code, bytes: one?.stdout.length }).toEqual({ code: 0, bytes: 600_000 });
  expect(two?.stdout).toBe(one?.stdout);
  expect(relay.dials).toBe(3);
  expect(relay.carried("up") - before).toBeLessThan(1.5 * 1_200_000);
});

test("an agent with a bandwidth limit sends all of an output", async () => {
  await start("--bandwidth", "200KiB");
  const id = await written(200_000);
  const { stdout } = await site.run("logs", id);
  expect(stdout.length).toBe(200_000);
  const { code, stderr } = await site.run("agent", "--bandwidth", "5");
  expect(code).toBe(2);
  expect(stderr).toContain("--bandwidth");
});

test("a job that is cancelled while its script is on its way never starts", async () => {
  await start();
  relay.set({ downBytesPerSecond: 50_000 });
  const before = relay.carried("down");
  const [large = ""] = await submit(aScript(900_000));
  await eventually(() => relay.carried("down") - before > 30_000, { what: "a part of the script" });
  await site.json("cancel", large);
  await site.jobIs(large, "cancelled");
  const [small = ""] = await submit(aScript(10));
  await site.jobIs(small, "succeeded");
  expect(site.lines("started")).toEqual([small]);
  expect(relay.carried("down") - before).toBeLessThan(400_000);
});
