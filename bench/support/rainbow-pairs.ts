import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { writeFileSync } from "node:fs";
import { MemoryGraph } from "../../src/gen/rainbow/v1/memory_pb.ts";
import { RainbowScheduler } from "../../src/gen/rainbow/v1/rainbow_pb.ts";
import { parseAddress } from "../../src/lib/address.ts";
import type { CallerResult } from "../rainbow-callers.ts";
import { openFrames, requestFrames } from "./frame-wire.ts";
import { compile } from "./native.ts";
import type { RegisteredCluster } from "./rainbow-peer.ts";
import type { Site } from "./site.ts";

/** What each caller sends: it asks which clusters match, then submits with all of them. */
export interface Pairs {
  readonly server: string;
  readonly connections: number;
  readonly calls: number;
  readonly clusters: readonly RegisteredCluster[];
  /** The request for Satisfy, in JSON. */
  readonly payload: string;
  /** The request for SubmitJob: rainbow's own server rejects texts with a double quote. */
  readonly jobspec: string;
}

const { satisfy } = MemoryGraph.method;
const { submitJob } = RainbowScheduler.method;
const pathOf = (method: { name: string; parent: { typeName: string } }): string =>
  `/${method.parent.typeName}/${method.name}`;

/**
 * Callers in C, which send prepared frames: a caller is part of the time that it measures, and one on Node would
 * take a fifth of it. Messages of the first answers are checked here, those of all others by their length and status.
 */
export async function callPairs(site: Site, pairs: Pairs): Promise<CallerResult> {
  const { server, clusters, payload, jobspec } = pairs;
  const ask = Buffer.from(toBinary(satisfy.input, create(satisfy.input, { payload })));
  const message = create(submitJob.input, {
    name: "bench",
    jobspec,
    clusters: clusters.map(({ name, token }) => ({ name, token })),
    selectAlgorithm: "random",
  });
  const request = Buffer.from(toBinary(submitJob.input, message));
  const satisfied = await firstPair(server, ask, request, clusters.length);
  const files = [site.path("satisfy.frames"), site.path("submit.frames")] as const;
  writeFileSync(files[0], requestFrames(server, pathOf(satisfy), ask));
  writeFileSync(files[1], requestFrames(server, pathOf(submitJob), request));
  const program = await compile(site, "rainbow-pairs", ["-pthread"]);
  const { host, port } = parseAddress(server, "server");
  const numbers = [port, pairs.connections, pairs.calls].map(String);
  const child = site.start(program, [host, ...numbers, ...files, String(satisfied)]);
  return JSON.parse(await child.prints(/^called (.*)$/m, 600_000)) as CallerResult;
}

/** Returns the bytes of the answer to Satisfy. */
async function firstPair(
  server: string,
  ask: Buffer,
  request: Buffer,
  count: number,
): Promise<number> {
  const wire = openFrames(server);
  try {
    const satisfied = await wire.call(pathOf(satisfy), ask);
    const { clusters } = fromBinary(satisfy.output, satisfied);
    if (clusters.length !== count) throw new Error(`${clusters.length} clusters match`);
    const submitted = await wire.call(pathOf(submitJob), request);
    const { status } = fromBinary(submitJob.output, submitted);
    if (status !== 1) throw new Error(`submission ended with ${status}`);
    return satisfied.length;
  } finally {
    wire.close();
  }
}
