import type { SubmitterOptions, SubmitterResult } from "../submitters.ts";
import { bulkRequests } from "../support/backlog.ts";
import { median, percentile } from "../support/numbers.ts";
import { atLeast, atMost, type Case } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import { describeCommits } from "../support/site.ts";
import { checkTaken, encodeSubmit, openWire, sendAll, submitAll } from "../support/wire.ts";

const BULK_JOBS = 100_000;
const BULK_ROUNDS = 5;
const SINGLE_JOBS = 50_000;
const ARRAYS = 20;
const ARRAY_TASKS = 1_000_000;

/** Calls of 5,000 jobs, a few on their way at once; several rounds, because the first one runs cold code. */
export const bulk: Case = {
  id: "c.bulk",
  what: "durable submit in bulk: 20 calls of 5,000 jobs, 4 in flight, no agent",
  async run(bench) {
    const server = await bench.openSite().startServer();
    const wire = openWire(server.grpc);
    const jobs = bench.count(BULK_JOBS);
    const stop = startMeter({ server: server.process.pid });
    const rates: number[] = [];
    for (let round = 0; round < BULK_ROUNDS; round++) {
      const requests = bulkRequests(round * jobs, jobs);
      const beginMs = performance.now();
      const answers = await sendAll(wire, requests, 4);
      rates.push((jobs * 1_000) / (performance.now() - beginMs));
      checkTaken(answers, jobs);
    }
    const cpuMsPerTask = stop(jobs * BULK_ROUNDS);
    bench.worked(jobs * BULK_ROUNDS);
    wire.close();
    const note = `rounds: ${rates.map(Math.round).join(", ")}; ${await describeCommits(server, jobs * BULK_ROUNDS)}`;
    const must = atLeast(150_000);
    return [
      {
        name: "median of 5 rounds",
        value: median(rates),
        unit: "jobs/s",
        must,
        cpuMsPerTask,
        note,
      },
    ];
  },
};

/** Clients share the machine: without their part it would be unclear what the limit is. */
const oneByOneThrough = (
  through: SubmitterOptions["through"],
  { id, what, budget }: { readonly id: string; readonly what: string; readonly budget?: number },
): Case => ({
  id,
  what: `durable submit one by one: 32 clients on 8 connections, ${what}, no agent`,
  async run(bench) {
    const site = bench.openSite();
    const server = await site.startServer();
    const jobs = bench.count(SINGLE_JOBS);
    const stop = startMeter({ server: server.process.pid });
    const shape = { clients: 32, connections: 8, through } as const;
    const options: SubmitterOptions = { server: server.grpc, jobs, ...shape };
    const submitters = site.startScript("submitters.ts", options);
    const output = await submitters.prints(/^submitted (.*)$/m, 600_000);
    const serverCpu = stop(jobs);
    bench.worked(jobs);
    const { seconds, cpuMsPerJob, p50, p99 } = JSON.parse(output) as SubmitterResult;
    const cpuMsPerTask = { ...serverCpu, clients: cpuMsPerJob };
    const must = budget === undefined ? {} : { must: atLeast(budget) };
    const note = await describeCommits(server, jobs);
    return [
      { name: "32 clients", value: jobs / seconds, unit: "jobs/s", ...must, cpuMsPerTask, note },
      { name: "one call, p50", value: p50, unit: "ms" },
      { name: "one call, p99", value: p99, unit: "ms" },
    ];
  },
});

export const oneByOne = oneByOneThrough("frames", {
  id: "c.single",
  what: "clients with minimal CPU",
  budget: 10_000,
});

export const oneByOneOverLibrary = oneByOneThrough("grpc-js", {
  id: "c.single-grpc-js",
  what: "clients on grpc-js",
});

export const arrays: Case = {
  id: "c.array",
  what: `durable submit of an array of ${ARRAY_TASKS.toLocaleString("en-US")}, no agent`,
  async run(bench) {
    const server = await bench.openSite().startServer();
    const wire = openWire(server.grpc);
    const spec = { command: ["/bin/true"], array: `0-${ARRAY_TASKS - 1}` };
    const request = encodeSubmit([{ spec }]);
    const tookMs: number[] = [];
    // As many as the server's limit on queued tasks allows.
    for (let each = 0; each < ARRAYS; each++) {
      const beginMs = performance.now();
      await submitAll(wire, [request], { inFlight: 1, jobs: 1 });
      tookMs.push(performance.now() - beginMs);
    }
    bench.worked(ARRAYS);
    wire.close();
    return [
      { name: "one call, median of 20", value: median(tookMs), unit: "ms", must: atMost(10) },
      { name: "one call, worst", value: percentile(tookMs, 1), unit: "ms" },
    ];
  },
};
