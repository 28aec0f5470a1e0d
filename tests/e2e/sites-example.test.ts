import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stateName } from "../../src/client/state.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Relay } from "../../src/testing/relay.ts";
import { Site } from "../support/busbar.ts";

const example = (name: string): string =>
  fileURLToPath(new URL(`../../examples/sites/${name}`, import.meta.url));

let site: Site;
let relay: Relay;
beforeEach(() => {
  site = new Site();
});
afterEach(async () => {
  await relay.close();
  await site.close();
});

/** Ports that are free now; the example has ports that people can type. */
async function freeAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (at === null || typeof at === "string") throw new Error("no address");
  return `127.0.0.1:${at.port}`;
}

test("a controller and two sites, with the link of one cut for a while", async () => {
  const [controller, siteA, siteB] = [
    await freeAddress(),
    await freeAddress(),
    await freeAddress(),
  ];
  relay = await Relay.start(controller);
  const env = {
    CONTROLLER: controller,
    SITE_A: siteA,
    SITE_B: siteB,
    LINK_A: relay.address,
    SITES_DATA: site.path("data"),
    AGENT_FLAGS: "--lease 2s",
  };
  const started = site.startProgram([], { program: example("start.sh"), env });
  await started.prints(/stop with Ctrl-C/);
  site.server = controller;

  const { stdout } = await promisify(execFile)(example("demo.sh"), {
    env: { ...process.env, ...env },
  });
  expect(stdout).toContain("task 1 of the controller is task 1 on a1");
  expect(stdout).toMatch(/^3 of 8 on [ab]1$/m);
  expect(stdout).toMatch(/upstream/);
  // The energy of the last job, as the controller and site-a report it.
  expect(stdout).toMatch(/^ *3\.\d +succeeded .*\bsite-a\b/m);
  expect(stdout).toMatch(/^ *3\.\d +succeeded .*\bsite-b\b/m);

  const waiting = `echo "$BUSBAR_ORIGIN_TASK_ID" >>"${site.path("began")}"
    while [ ! -e "${site.path("go")}" ]; do sleep 0.2; done
    echo "$BUSBAR_ORIGIN_TASK_ID" >>"${site.path("ended")}"`;
  const spec = { script: waiting, array: "0-1", resources: { cpu: 0.1 } };
  const jobs = [{ spec: { ...spec, placement: { cluster: "site-a" } } }];
  const id = (await site.client.submitJobs({ jobs })).jobs[0]?.id ?? "";
  const running = async () => Number((await site.client.getJob({ id })).tasks?.running);
  await eventually(async () => (await running()) === 2, { what: "both to run", timeoutMs: 60_000 });
  relay.cut();
  await site.nodeIs("site-a-agent", "lost");
  writeFileSync(site.path("go"), "");
  await eventually(() => site.lines("ended").length === 2, { what: "the site to go on" });
  expect(await running()).toBe(2); // the server above does not know yet
  relay.heal();
  await site.jobIs(id, "succeeded");
  expect(site.lines("began")).toEqual([`${id}.0`, `${id}.1`]);
  const { tasks } = await site.client.listTasks({ jobId: id });
  expect(tasks.map(({ state, past }) => [stateName(state), past])).toEqual([
    ["succeeded", []],
    ["succeeded", []],
  ]);

  const edges = ["site-a-edges", "site-b-edges"];
  const names = ["controller", "site-a", "site-b", "site-a-agent", "site-b-agent", ...edges];
  const pids = names.map((name) => Number(readFileSync(site.path(`data/${name}.pid`), "utf8")));
  await started.end("SIGTERM");
  await eventually(() => !pids.some((pid) => isAlive(pid)), { what: "all to end" });
});
