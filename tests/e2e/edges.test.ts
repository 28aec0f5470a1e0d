import { existsSync, writeFileSync } from "node:fs";
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

/** Short times: these tests do not measure how long a loss takes. */
const QUICK = ["--heartbeat", "500ms", "--silence", "2s", "--node-lost-after", "4s"];

/** A server, and an agent that reaches it over a relay. */
async function start(...agentFlags: string[]): Promise<void> {
  site = new Site();
  await site.startServer(...QUICK);
  relay = await Relay.start(site.server);
  const name = ["--name", "edge", "--data", site.path("edge"), "--no-discovery"];
  site.start(["agent", "--server", relay.address, ...name, ...agentFlags]);
  await site.nodeIs("edge", "connected");
}

/** A task that records each start, and ends when the test releases it. */
async function startTask(): Promise<string> {
  const [started, go] = [site.path("started"), site.path("go")];
  const script = `echo "$BUSBAR_ATTEMPT" >>"${started}"; while [ ! -e "${go}" ]; do sleep 0.1; done`;
  const { jobs } = await site.client.submitJobs({ jobs: [{ spec: { script } }] });
  await eventually(() => site.lines("started").length === 1, { what: "the task to start" });
  return jobs[0]?.id ?? "";
}

const letGo = (): void => writeFileSync(site.path("go"), "");

test("keep: a task of a disconnected node is not run twice, and its result counts", async () => {
  await start("--on-lost", "keep");
  const id = await startTask();
  relay.cut();
  await site.nodeIs("edge", "lost");
  const { stdout } = await site.run("explain", id);
  expect(stdout).toContain(
    "on node edge, which is lost: it waits until the node returns (on lost: keep)",
  );
  letGo();
  relay.heal();
  await site.jobIs(id, "succeeded");
  expect(site.lines("started")).toEqual(["1"]);
});

test("fail: the job fails without a second attempt; the node stops the task when it returns", async () => {
  await start("--on-lost", "fail");
  const id = await startTask();
  relay.cut();
  await site.jobIs(id, "failed");
  relay.heal();
  await site.nodeIs("edge", "connected");
  expect(site.lines("started")).toEqual(["1"]);
  expect(existsSync(site.path("go"))).toBe(false);
});

test("requeue: a second attempt, and the first is stopped when the node returns", async () => {
  await start();
  const id = await startTask();
  relay.cut();
  await site.nodeIs("edge", "lost");
  relay.heal();
  await eventually(() => site.lines("started").length === 2, { what: "the second attempt" });
  letGo();
  await site.jobIs(id, "succeeded");
  expect(site.lines("started")).toEqual(["1", "2"]);
});

test.each(["up", "down"] as const)(
  "a link that no longer carries anything %s is given up by the side that receives nothing",
  async (direction) => {
    await start("--on-lost", "keep");
    const id = await startTask();
    relay.pause(direction);
    await site.nodeIs("edge", "disconnected");
    relay.reset();
    relay.resume();
    await site.nodeIs("edge", "connected");
    letGo();
    await site.jobIs(id, "succeeded");
    expect(site.lines("started")).toEqual(["1"]);
  },
);

test("an agent moves on to another address of its server, and reports its results there", async () => {
  site = new Site();
  await site.startServer(...QUICK);
  relay = await Relay.start(site.server);
  const other = await Relay.start(site.server);
  try {
    other.cut();
    const name = ["--name", "edge", "--data", site.path("edge"), "--no-discovery"];
    const servers = ["--server", relay.address, "--server", other.address];
    site.start(["agent", ...servers, "--on-lost", "keep", ...name]);
    await site.nodeIs("edge", "connected");
    const id = await startTask();
    relay.cut();
    letGo();
    other.heal();
    await site.jobIs(id, "succeeded");
    expect(other.dials).toBeGreaterThan(0);
    expect(site.lines("started")).toEqual(["1"]);
  } finally {
    await other.close();
  }
});
