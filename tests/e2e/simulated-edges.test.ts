import { afterEach, expect, test } from "vitest";
import type { Statistics } from "../../src/cli/generate/statistics.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type Running, Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

function startEdges(edges: number, speedup: number): Running {
  const how = ["--power-schedule", "seed:7", "--speedup", String(speedup)];
  const data = ["--data", site.path("edges")];
  const which = ["--simulate-edges", String(edges), "--site", "edge-g0"];
  return site.start(["agent", "--server", site.server, ...which, ...how, ...data]);
}

const areConnected = (edges: number): Promise<true> =>
  eventually(
    async () => {
      const { nodes } = await site.client.listNodes({ cluster: "edge-g0", state: "connected" });
      return nodes.length === edges;
    },
    { what: `${edges} edges connected`, timeoutMs: 60_000 },
  );

async function generate(...flags: string[]): Promise<{ code: number; statistics: Statistics }> {
  const { code, stdout } = await site.run("--output", "json", "generate", ...flags);
  return { code, statistics: JSON.parse(stdout) as Statistics };
}

/** Shares add up to their job, exactly, and all of it is done. */
async function checkEnergy(jobs: number): Promise<number> {
  const page = await site.client.listJobs({ pageSize: 200 });
  expect(page.jobs).toHaveLength(jobs);
  let sum = 0;
  for (const job of page.jobs) {
    const asked = Number(job.spec?.energy?.wattSeconds ?? 0);
    const { tasks } = await site.client.listTasks({ jobId: job.id });
    const done = tasks.map(({ share }) => Number(share?.doneWattSeconds ?? 0));
    expect(
      done.reduce((all, one) => all + one, 0),
      `job ${job.id}`,
    ).toBe(asked);
    expect(job.progress?.percent ?? 100).toBe(100);
    sum += asked;
  }
  return sum;
}

test(
  "50 jobs end on 10 simulated edges, and their energy adds up",
  { timeout: 120_000 },
  async () => {
    site = new Site();
    await site.startServer();
    startEdges(10, 200);
    await areConnected(10);
    const { code, statistics } = await generate(
      "--rate",
      "50/s",
      "--count",
      "50",
      "--backlog",
      "20",
    );
    expect(statistics.states).toEqual({ succeeded: 50 });
    expect(code).toBe(0);
    expect(await checkEnergy(50)).toBe(statistics.wattSeconds);
    expect(statistics.wattSeconds).toBeGreaterThanOrEqual(50 * 300);
    expect(statistics.wattSeconds).toBeLessThanOrEqual(50 * 500);
    expect(statistics.waitMs?.p99).toBeGreaterThanOrEqual(statistics.waitMs?.p50 ?? 0);
  },
);

test(
  "edges and server killed -9 in the middle: all jobs end, each watt-second once",
  { timeout: 180_000 },
  async () => {
    site = new Site();
    const server = await site.startServer();
    const edges = startEdges(10, 40);
    await areConnected(10);
    const generating = generate("--rate", "50/s", "--count", "50", "--backlog", "50");
    await eventually(async () => ((await site.client.countJobs({})).jobs["succeeded"] ?? 0n) > 5n, {
      what: "some jobs to end",
      timeoutMs: 60_000,
    });
    await edges.end("SIGKILL");
    startEdges(10, 200);
    await areConnected(10);
    await server.end("SIGKILL");
    await site.startServer();
    const { statistics } = await generating;
    expect(statistics.states).toEqual({ succeeded: 50 });
    await checkEnergy(50);
  },
);
