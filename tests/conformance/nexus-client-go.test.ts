import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { Relay } from "../../src/testing/relay.ts";
import type { Running } from "../support/busbar.ts";
import { informerProgram, NexusSite } from "./support/nexus.ts";

// The behaviour of programs on client-go 0.32, like the old ones: an informer that resumes after every break.
let site: NexusSite;
let program: string;
beforeAll(async () => {
  program = await informerProgram();
  site = new NexusSite();
  await site.startNexus();
}, 600_000);
afterAll(() => site.close());

const submit = async (name: string): Promise<string> => {
  const args = ["submit", "--allow-unsatisfiable", "--name", name, "--", "true"];
  const { jobs } = await site.json<{ jobs: { id: string }[] }>(...args);
  return `${name}.${jobs[0]?.id}`;
};

const watch = (address: string): Running =>
  site.startProgram(["watch", `http://${address}`], { program, env: { no_proxy: "*" } });

/** All events that it received, in order. */
const heard = ({ output }: Running): readonly string[] =>
  output.split("\n").filter((line) => /^(add|update|delete) /.test(line));

test("an informer receives each job once, also jobs created while it was cut off", async () => {
  const relay = await Relay.start(site.nexus);
  const before = await submit("before");
  const informer = watch(relay.address);
  await informer.prints(/^synced$/m);
  const live = await submit("live");
  await informer.prints(new RegExp(`^add ${live} `, "m"));
  relay.cut();
  relay.heal();
  const missed = await submit("missed");
  await informer.prints(new RegExp(`^add ${missed} `, "m"));
  for (const name of [before, live, missed]) {
    const adds = heard(informer).filter((line) => line.startsWith(`add ${name} `));
    expect(adds).toHaveLength(1);
  }
  await informer.end("SIGTERM");
  await relay.close();
});

test("an informer lists again when its version is no longer retained, and versions continue", async () => {
  const first = await submit("first");
  const informer = watch(site.nexus);
  await informer.prints(/^synced$/m);
  await site.killServer();
  await site.startNexus();
  const second = await submit("second");
  await informer.prints(new RegExp(`^add ${second} `, "m"));
  const versionOf = (name: string): number => {
    const line = heard(informer).findLast((each) => each.includes(` ${name} `));
    return Number(line?.split(" ").at(-1));
  };
  expect(versionOf(second)).toBeGreaterThan(versionOf(first));
  await site.kubectl("delete", "jobs", first);
  await informer.prints(new RegExp(`^delete ${first} `, "m"));
  await informer.end("SIGTERM");
});

test("concurrent changes of one object are all applied: a client with a conflict retries", async () => {
  const name = await submit("crowded");
  const sides = 12;
  const run = site.startProgram(["conflict", `http://${site.nexus}`, name, String(sides)], {
    program,
    env: { no_proxy: "*" },
  });
  const conflicts = Number(await run.prints(/^conflicts (\d+)$/m));
  expect(conflicts).toBeGreaterThan(0);
  await eventually(
    async () => {
      const labels = await site.kubectl("get", "jobs", name, "-o", "jsonpath={.metadata.labels}");
      const kept = Object.keys(JSON.parse(labels) as object).filter((key) =>
        key.startsWith("side-"),
      );
      return kept.length === sides;
    },
    { what: `${sides} labels` },
  );
});

test("an old edge and its share continue after the server was killed", async () => {
  const call = async (method: string, path: string, body: object): Promise<number> => {
    const response = await fetch(`http://${site.nexus}/apis/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const labels = { "sites.site.intel.com": "edge-10" };
  const edges = "edge.intel.com/v1/edges";
  expect(await call("POST", edges, { metadata: { name: "edge-10", labels } })).toBe(201);
  const powerInfo = { totalPowerAvailable: 100 };
  const status = { state: { powerInfo } };
  expect(await call("PUT", `${edges}/edge-10/status`, { kind: "edges", status })).toBe(200);
  const jobs = "jobscheduler.intel.com/v1/jobs";
  const spec = { jobId: 1, powerNeeded: 329 };
  expect(await call("POST", jobs, { metadata: { name: "job-1" }, spec })).toBe(201);
  const told = (progress: number) => ({
    kind: "jobinfos",
    status: { state: { progress, startTime: 1, endTime: Math.floor(Date.now() / 1_000) } },
  });
  const share = "jobmgmt.intel.com/v1/jobinfos/job-1-edge-10/status";
  await eventually(async () => (await call("PUT", share, told(0))) === 200, { what: "a share" });
  await site.killServer();
  await site.startNexus();
  await site.nodeIs("edge-10", "connected");
  expect(await call("PUT", share, told(100))).toBe(200);
  const path = "jsonpath={.status.state.percentCompleted}";
  expect(await site.kubectl("get", "jobs", "job-1", "-o", path)).toBe("100");
});
