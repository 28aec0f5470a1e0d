import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { writeFileSync } from "node:fs";
import { RainbowScheduler } from "../../src/gen/rainbow/v1/rainbow_pb.ts";
import { lastingAddress } from "../../tests/support/lasting-address.ts";
import { waitUntil } from "./numbers.ts";
import type { Site } from "./site.ts";

/** A server for rainbow's clients. */
export interface RainbowPeer {
  readonly name: string;
  readonly address: string;
  readonly pid: number;
}

export const SECRET = "chocolate-cookies";
const same = (bytes: Buffer): Buffer => bytes;

/** Busbar, and the server in RAINBOW_SERVER, if set: one after the other. */
export const rainbowPeers: readonly ((site: Site) => Promise<RainbowPeer>)[] = [
  async (site) => {
    writeFileSync(site.path("secret"), SECRET);
    const server = await site.startServer("data", ["--rainbow-secret-file", site.path("secret")]);
    return { name: "busbar", address: server.grpc, pid: server.process.pid };
  },
  ...(process.env["RAINBOW_SERVER"] === undefined ? [] : [startRainbow]),
];

async function startRainbow(site: Site): Promise<RainbowPeer> {
  const address = await lastingAddress();
  const flags = ["--host", address, "--db", site.path("rainbow.db"), "--secret", SECRET];
  const program = process.env["RAINBOW_SERVER"] ?? "";
  const child = site.start(program, [...flags, "--global-token", "", "--cleanup"]);
  const isUp = () => register(address, "probe", graphOf(1)).then(Boolean, () => false);
  await waitUntil("starting rainbow", isUp, { everyMs: 50, timeoutMs: 30_000 });
  return { name: "rainbow", address, pid: child.pid };
}

export interface RegisteredCluster {
  readonly name: string;
  readonly token: string;
  readonly secret: string;
}

export async function register(
  server: string,
  name: string,
  nodes: string,
): Promise<RegisteredCluster> {
  const { register: method } = RainbowScheduler.method;
  const request = Buffer.from(
    toBinary(method.input, create(method.input, { name, secret: SECRET, nodes })),
  );
  const client = new Client(server, credentials.createInsecure(), { "grpc.enable_http_proxy": 0 });
  const path = `/${method.parent.typeName}/${method.name}`;
  try {
    const bytes = await new Promise<Buffer>((resolve, reject) => {
      client.makeUnaryRequest(path, same, same, request, (error, answer) => {
        if (error !== null) reject(error);
        else resolve(answer ?? Buffer.alloc(0));
      });
    });
    const { token, secret, status } = fromBinary(method.output, bytes);
    if (status !== 1) throw new Error(`registering ${name} ended with ${status}`);
    return { name, token, secret };
  } finally {
    client.close();
  }
}

/** A cluster with a rack of nodes, each with a socket of 8 cores. */
export function graphOf(nodes: number): string {
  const vertices: Record<string, unknown> = {};
  const edges: unknown[] = [];
  let count = 0;
  const add = (type: string, above?: string): string => {
    const id = String(count++);
    vertices[id] = { label: id, metadata: { type, size: 1, unit: "" } };
    if (above !== undefined) edges.push({ source: above, target: id, relation: "contains" });
    return id;
  };
  const rack = add("rack", add("cluster"));
  for (let node = 0; node < nodes; node++) {
    const socket = add("socket", add("node", rack));
    for (let core = 0; core < 8; core++) add("core", socket);
  }
  return JSON.stringify({ graph: { nodes: vertices, edges } });
}

/** A file system that is linked to the rack of such a cluster. */
export const SUBSYSTEM = JSON.stringify({
  graph: {
    nodes: { io0: { metadata: { type: "io" } }, io1: { metadata: { type: "shm" } } },
    edges: [
      { source: "io0", target: "io1", relation: "contains" },
      { source: "1", target: "io1", relation: "contains" },
    ],
  },
});
