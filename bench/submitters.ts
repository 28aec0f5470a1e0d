import { percentile } from "./support/numbers.ts";
import { openFrameWire } from "./support/frame-wire.ts";
import { checkTaken, distinctJobs, openWire } from "./support/wire.ts";

/** The order of the bench to this process, as JSON in its first argument. */
export interface SubmitterOptions {
  readonly server: string;
  readonly clients: number;
  readonly connections: number;
  readonly jobs: number;
  /** The transport of the clients: grpc-js, as for users, or frames that cost almost nothing. */
  readonly through: "grpc-js" | "frames";
}

/** Clients that each submit one job, wait for the answer, and submit the next. */
async function submitOneByOne({ server, clients, connections, jobs, through }: SubmitterOptions) {
  const open = through === "frames" ? openFrameWire : openWire;
  const wires = Array.from({ length: connections }, () => open(server));
  const requests = Array.from({ length: jobs }, (_, at) => distinctJobs(at, 1));
  // Connecting is not measured.
  await Promise.all(wires.map((wire) => wire.submit(distinctJobs(jobs, 1))));
  const tookMs: number[] = [];
  const answers: Buffer[] = [];
  let next = 0;
  const client = async (_: unknown, at: number): Promise<void> => {
    const wire = wires[at % connections];
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      const sentMs = performance.now();
      answers.push((await wire?.submit(request)) ?? Buffer.alloc(0));
      tookMs.push(performance.now() - sentMs);
    }
  };
  const cpuBefore = process.cpuUsage();
  const beginMs = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - beginMs) / 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  for (const wire of wires) wire.close();
  checkTaken(answers, jobs);
  const cpuMsPerJob = (user + system) / 1_000 / jobs;
  return { seconds, cpuMsPerJob, p50: percentile(tookMs, 0.5), p99: percentile(tookMs, 0.99) };
}

export type SubmitterResult = Awaited<ReturnType<typeof submitOneByOne>>;

const options = JSON.parse(process.argv[2] ?? "") as SubmitterOptions;
process.stdout.write(`submitted ${JSON.stringify(await submitOneByOne(options))}\n`);
