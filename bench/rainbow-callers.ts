import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { RainbowScheduler } from "../src/gen/rainbow/v1/rainbow_pb.ts";
import { type Frames, openFrames } from "./support/frame-wire.ts";
import { percentile } from "./support/numbers.ts";

/** The order of the bench to this process, as JSON in its first argument. */
export interface CallerOptions {
  readonly server: string;
  readonly connections: number;
  readonly clusters: readonly { readonly name: string; readonly token: string; secret: string }[];
  readonly work:
    /** Each of `clusters`, which do not exist yet, with so many subsystems of this document. */
    | {
        readonly kind: "register";
        readonly secret: string;
        readonly graph: string;
        readonly subsystems: number;
        readonly subsystem: string;
      }
    /** Jobs of the first cluster, so many at once. */
    | { readonly kind: "drain"; readonly jobs: number; readonly batch: number };
}

const { register, registerSubsystem, receiveJobs, acceptJobs } = RainbowScheduler.method;
const pathOf = (method: { name: string; parent: { typeName: string } }): string =>
  `/${method.parent.typeName}/${method.name}`;

/** One consumer that receives and accepts until it has all jobs. */
async function drain(wire: Frames, options: CallerOptions, jobs: number, batch: number) {
  const [{ name: cluster, secret } = { name: "", secret: "" }] = options.clusters;
  const request = create(receiveJobs.input, { cluster, secret, maxJobs: batch });
  const ask = Buffer.from(toBinary(receiveJobs.input, request));
  const measured = measure();
  const tookMs: number[] = [];
  for (let got = 0; got < jobs;) {
    const sentMs = performance.now();
    const received = fromBinary(receiveJobs.output, await wire.call(pathOf(receiveJobs), ask));
    const jobids = Object.keys(received.jobs).map(Number);
    const accepting = create(acceptJobs.input, { cluster, secret, jobids });
    const bytes = Buffer.from(toBinary(acceptJobs.input, accepting));
    const { status } = fromBinary(acceptJobs.output, await wire.call(pathOf(acceptJobs), bytes));
    if (status !== 2 || jobids.length === 0) throw new Error(`accepting ended with ${status}`);
    got += jobids.length;
    tookMs.push(performance.now() - sentMs);
  }
  return measured(jobs, tookMs);
}

/** Each connection registers a cluster and its subsystems, one after another, until all exist. */
async function registerAll(
  wires: readonly Frames[],
  { clusters }: CallerOptions,
  work: CallerOptions["work"] & { readonly kind: "register" },
) {
  const send = async (wire: Frames, method: typeof register, request: object) => {
    const bytes = Buffer.from(toBinary(method.input, create(method.input, request)));
    const answer = fromBinary(method.output, await wire.call(pathOf(method), bytes));
    if (answer.status !== 1) throw new Error(`registering ended with ${answer.status}`);
    return answer;
  };
  const left = [...clusters];
  const measured = measure();
  const tookMs: number[] = [];
  const timed = async <T>(call: Promise<T>): Promise<T> => {
    const sentMs = performance.now();
    const answer = await call;
    tookMs.push(performance.now() - sentMs);
    return answer;
  };
  await Promise.all(
    wires.map(async (wire) => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const { name } = next;
        const asked = { name, secret: work.secret, nodes: work.graph };
        const { secret } = await timed(send(wire, register, asked));
        for (let at = 0; at < work.subsystems; at++) {
          const more = { name, secret, nodes: work.subsystem, subsystem: `s${at}` };
          await timed(send(wire, registerSubsystem, more));
        }
      }
    }),
  );
  return measured(clusters.length, tookMs);
}

function measure() {
  const cpuBefore = process.cpuUsage();
  const beginMs = performance.now();
  return (count: number, tookMs: readonly number[]) => {
    const seconds = (performance.now() - beginMs) / 1_000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpuMs = (user + system) / 1_000 / count;
    return { seconds, cpuMs, p50: percentile(tookMs, 0.5), p99: percentile(tookMs, 0.99) };
  };
}

export type CallerResult = Awaited<ReturnType<typeof drain>>;

async function main(options: CallerOptions): Promise<CallerResult> {
  const { server, connections, work } = options;
  const wires = Array.from({ length: connections }, () => openFrames(server));
  const [first] = wires;
  if (first === undefined) throw new Error("at least one connection is needed");
  const run = (): Promise<CallerResult> => {
    switch (work.kind) {
      case "drain":
        return drain(first, options, work.jobs, work.batch);
      case "register":
        return registerAll(wires, options, work);
    }
  };
  const result = await run();
  for (const wire of wires) wire.close();
  return result;
}

const options = JSON.parse(process.argv[2] ?? "") as CallerOptions;
process.stdout.write(`called ${JSON.stringify(await main(options))}\n`);
