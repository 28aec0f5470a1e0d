import { afterEach, beforeEach, expect, test } from "vitest";
import { stateName } from "../../src/client/state.ts";
import type { Job, Task } from "../../src/gen/busbar/v1/busbar_pb.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { Relay } from "../../src/testing/relay.ts";
import { type Running, Site } from "../support/busbar.ts";

let above: Site;
let siteA: Site;
let siteB: Site;
let servers: Running[];
let relay: Relay;
beforeEach(async () => {
  [above, siteA, siteB] = [new Site(), new Site(), new Site()];
  servers = await Promise.all([above, siteA, siteB].map((site) => site.startServer()));
  relay = await Relay.start(above.server);
});
afterEach(async () => {
  for (const site of [above, siteA, siteB]) await site.close();
  await relay.close();
});

/** Simulated edges of a site, each of so many watts. */
function startEdges(site: Site, edges: number, watts: number, speedup: number): Running {
  const which = ["--simulate-edges", `${edges}`, "--site", "edge", "--data", site.path("edges")];
  const how = ["--power-schedule", `${watts}`, "--speedup", `${speedup}`];
  return site.start(["agent", "--server", site.server, ...which, ...how]);
}

function speak(site: Site, cluster: string, server: string): Running {
  const own = ["--server", server, "--cluster", cluster, "--data", site.path("agent")];
  const how = ["--executor", "busbar", "--to", site.server, "--lease", "1s", "--refresh", "1s"];
  return site.start(["agent", ...own, ...how]);
}

const hasPower = (name: string, watts: number): Promise<unknown> =>
  eventually(
    async () => {
      const { nodes } = await above.client.listNodes({ cluster: "sites" });
      return nodes.find((node) => node.name === name)?.power?.watts === BigInt(watts);
    },
    { what: `${watts} W of ${name}`, timeoutMs: 90_000 },
  );

const submit = async (site: Site, spec: object): Promise<string> =>
  (await site.client.submitJobs({ jobs: [{ spec }] })).jobs[0]?.id ?? "";
const energy = (wattSeconds: number): object => ({ energy: { wattSeconds: BigInt(wattSeconds) } });

const doneOf = (tasks: readonly Task[]): number =>
  tasks.reduce((sum, { share }) => sum + Number(share?.doneWattSeconds ?? 0n), 0);
const sharesOf = async (site: Site, jobId: string): Promise<Task[]> =>
  (await site.client.listTasks({ jobId, pageSize: 1_000 })).tasks;

/** Jobs below that are shares of this one above. */
async function jobsBelow(site: Site, jobId: string): Promise<Job[]> {
  const { jobs } = await site.client.listJobs({ filter: { group: "upstream" }, pageSize: 200 });
  return jobs.filter(({ spec }) => spec?.labels["busbar.origin.task"]?.startsWith(`${jobId}.`));
}

/** Watt-seconds that edges of both sites have done for this job above. */
async function doneBelow(jobId: string): Promise<number> {
  let sum = 0;
  for (const site of [siteA, siteB]) {
    for (const { id } of await jobsBelow(site, jobId)) sum += doneOf(await sharesOf(site, id));
  }
  return sum;
}

const isOver = async (site: Site, jobId: string): Promise<boolean> => {
  const jobs = await jobsBelow(site, jobId);
  return jobs.length > 0 && jobs.every(({ endedAtMs }) => endedAtMs !== undefined);
};

test(
  "a job with energy is split over two sites and their edges, through a cut link and kill -9 of agent and servers",
  { timeout: 400_000 },
  async () => {
    startEdges(siteA, 4, 20, 20);
    startEdges(siteB, 2, 20, 20);
    speak(siteA, "site-a", relay.address);
    let agent = speak(siteB, "site-b", above.server);
    await hasPower("site-a", 80);
    await hasPower("site-b", 40);

    const id = await submit(above, energy(3_000));
    await above.jobIs(id, "succeeded");
    const shares = await sharesOf(above, id);
    const placed = shares.map(({ node, share }) => [node, Number(share?.wattSeconds)]);
    expect(placed).toEqual([
      ["site-a", 2_000],
      ["site-b", 1_000],
    ]);
    expect(await doneBelow(id)).toBe(3_000);
    const [job] = await jobsBelow(siteA, id);
    const nodes = (await sharesOf(siteA, job?.id ?? "")).map(({ node = "" }) => node);
    expect(nodes.sort()).toEqual(["edge-0", "edge-1", "edge-2", "edge-3"]);

    // 12 s of all edges, or longer: the link of one site is cut and its server killed, the agent of the other
    // is killed, and so is the server above.
    let long = "";
    for (let wattSeconds = 28_800; ; wattSeconds *= 2) {
      long = await submit(above, energy(wattSeconds));
      await eventually(
        async () => {
          const tasks = await sharesOf(above, long);
          return tasks.length === 2 && tasks.every(({ progress }) => (progress?.percent ?? 0) > 0);
        },
        { what: "progress of both shares", timeoutMs: 90_000 },
      );
      relay.cut();
      await agent.end("SIGKILL");
      if (stateName((await above.client.getJob({ id: long })).state) === "running") break;
      relay.heal(); // this machine is too slow for so short a job
      agent = speak(siteB, "site-b", above.server);
    }
    const wattSeconds = Number((await above.client.getJob({ id: long })).energy?.wattSeconds);
    await servers[1]?.end("SIGKILL");
    await siteA.startServer();
    await above.nodeIs("site-a", "lost");
    await servers[0]?.end("SIGKILL");
    await above.startServer();
    await eventually(async () => (await isOver(siteA, long)) && (await isOver(siteB, long)), {
      what: "the sites to go on alone",
      timeoutMs: 90_000,
    });
    agent = speak(siteB, "site-b", above.server);
    relay.heal();
    await above.jobIs(long, "succeeded");
    expect(await doneBelow(long)).toBe(wattSeconds);
    for (const site of [siteA, siteB]) expect(await jobsBelow(site, long)).toHaveLength(1);
    const ended = await sharesOf(above, long);
    // Which site connected first, and so has the first share, is not decided.
    const pastOf = new Map(ended.map(({ node, past }) => [node, past]));
    expect(ended).toHaveLength(2);
    expect([pastOf.get("site-a"), pastOf.get("site-b")]).toEqual([[], []]);

    // Both levels receive a cancel; a single share is taken back, and its rest is split again.
    const endless = await submit(above, energy(10_000_000));
    await eventually(async () => (await doneBelow(endless)) > 0, {
      what: "it to begin below",
      timeoutMs: 90_000,
    });
    const [first] = await sharesOf(above, endless);
    await above.client.cancelJob({ id: first?.id ?? "" });
    await eventually(async () => (await sharesOf(above, endless)).length >= 3, {
      what: "the rest of the share to be split again",
      timeoutMs: 90_000,
    });
    await above.client.cancelJob({ id: endless });
    await above.jobIs(endless, "cancelled");
    // A site whose edges were still busy when the job began has none of it.
    const below = await Promise.all([siteA, siteB].map((site) => jobsBelow(site, endless)));
    expect(below.flat().length).toBeGreaterThan(0);
    for (const site of [siteA, siteB].filter((_, at) => (below[at]?.length ?? 0) > 0)) {
      await eventually(() => isOver(site, endless), {
        what: "its jobs below to end",
        timeoutMs: 90_000,
      });
    }
    // Energy that counts above was done below; at most a hundredth of a percent of each share is not counted.
    const all = await sharesOf(above, endless);
    const slack = all.reduce(
      (sum, { share }) => sum + Number(share?.wattSeconds ?? 0) / 10_000 + 1,
      0,
    );
    const [counted, done] = [doneOf(all), await doneBelow(endless)];
    expect(counted).toBeLessThanOrEqual(done);
    expect(counted).toBeGreaterThanOrEqual(done - slack);
    await agent.end("SIGTERM");
  },
);

test(
  "a pending share of a site shows its reason above; commands of shares print through both levels",
  { timeout: 300_000 },
  async () => {
    await siteA.startAgent("n1", "--power", "50W", "--cpu", "4");
    speak(siteA, "site-a", above.server);
    await hasPower("site-a", 50);
    const script = 'echo "$BUSBAR_ORIGIN_TASK_ID: $BUSBAR_SHARE_WATT_SECONDS on $BUSBAR_NODE"';
    const id = await submit(above, { ...energy(400), script });
    await above.jobIs(id, "succeeded");
    expect(await above.run("logs", `${id}.0`)).toMatchObject({ stdout: `${id}.0: 400 on n1\n` });

    // A task that is no share goes to the site's cluster, not to the node of its edges.
    expect((await above.run("submit", "--node", "site-a", "--", "true")).stderr).toMatch(
      /node of a site's edges/,
    );
    const failing = await submit(above, { ...energy(40), command: ["sh", "-c", "exit 7"] });
    await above.jobIs(failing, "failed");
    const [failed] = await sharesOf(above, failing);
    expect(failed).toMatchObject({ exitCode: 7, node: "site-a" });

    // A job of the site's own users.
    const own = await submit(siteA, { ...energy(40), command: ["sleep", "600"] });
    await siteA.jobIs(own, "running");
    await hasPower("site-a", 1);
    const waiting = await submit(above, { ...energy(80), command: ["true"] });
    let summary = "";
    await eventually(
      async () => {
        ({ summary } = await above.client.explainJob({ id: waiting }));
        return /1 task waits in busbar: 1 node could run it later.*1 node: busy/.test(summary);
      },
      { what: () => `the reason below, not ${summary}`, timeoutMs: 90_000 },
    );
    await siteA.client.cancelJob({ id: own });
    await above.jobIs(waiting, "succeeded");
  },
);
