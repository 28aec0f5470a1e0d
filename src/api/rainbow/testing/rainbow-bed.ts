import type { Client } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect } from "vitest";
import { documentOf, times } from "../../../core/graph/testing/documents.ts";
import { RainbowScheduler } from "../../../gen/rainbow/v1/rainbow_pb.ts";
import { aPlane, type TestPlane } from "../../../testing/plane.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { call, callRaw, connect, failure, pathOf } from "../../grpc/testing/grpc-client.ts";
import { type RainbowOptions, rainbowServices } from "../service.ts";
import { bytesOf, readAs, SENT } from "./wire.ts";

export const REGISTER_SECRET = "chocolate-cookies";
export const scheduler = RainbowScheduler.method;

/** A control plane with rainbow's door, and the calls of rainbow's clients. */
export class RainbowBed {
  plane!: TestPlane;
  client!: Client;
  #server!: GrpcServer;
  /** Credentials of registered clusters. */
  readonly #issued = new Map<string, { readonly secret: string; readonly token: string }>();

  async open(
    parts: Parameters<typeof aPlane>[0] = {},
    options: Pick<RainbowOptions, "visibilityMs" | "nowMs"> = {},
  ): Promise<void> {
    ({ plane: this.plane } = await aPlane(parts));
    const { operations, authenticator } = this.plane;
    this.#issued.clear();
    await operations.setCredentials({ registerSecret: REGISTER_SECRET });
    this.#server = await createGrpcServer({
      address: "127.0.0.1:0",
      services: rainbowServices({
        operations,
        authenticator,
        logger: silentLogger,
        fraction: 0,
        ...options,
      }),
      logger: silentLogger,
    });
    this.client = connect(this.#server.address);
  }

  get address(): string {
    return this.#server.address;
  }

  async close(): Promise<void> {
    this.client.close();
    await this.#server.close();
    await this.plane.close();
  }

  secretOf(cluster: string): string {
    return this.#issued.get(cluster)?.secret ?? "no secret";
  }

  tokenOf(cluster: string): string {
    return this.#issued.get(cluster)?.token ?? "no token";
  }

  async register(name: string, nodes = graphOf(2), own = REGISTER_SECRET, subsystem = "") {
    const request = { name, secret: own, nodes, subsystem };
    const { status: said, secret, token } = await call(this.client, scheduler.register, request);
    if (said === 1) this.#issued.set(name, { secret, token });
    return { status: said, secret, token };
  }

  /** Like clients of the first generation. */
  async registerAlone(name: string): Promise<Record<string, unknown>> {
    const request = bytesOf([1, name], [2, REGISTER_SECRET], [3, SENT]);
    const bytes = await callRaw(this.client, pathOf(scheduler.register), request);
    const { secret, token } = readAs({ 2: ["token", "text"], 3: ["secret", "text"] }, bytes);
    this.#issued.set(name, { secret: String(secret), token: String(token) });
    return readAs({ 2: ["token", "text"], 3: ["status", "varint"] }, bytes);
  }

  submit(jobspec: string, clusters: readonly string[], more: object = {}) {
    return call(this.client, scheduler.submitJob, {
      name: "app",
      jobspec,
      clusters: clusters.map((name) => ({ name, token: this.tokenOf(name) })),
      selectAlgorithm: "random",
      ...more,
    });
  }

  receive(cluster: string, maxJobs = 0, client = this.client) {
    const request = { cluster, secret: this.secretOf(cluster), maxJobs };
    return call(client, scheduler.receiveJobs, request);
  }

  async accept(cluster: string, jobids: number[], client = this.client) {
    const request = { cluster, secret: this.secretOf(cluster), jobids };
    return (await call(client, scheduler.acceptJobs, request)).status;
  }

  /** Another receiver, on its own connection. */
  connect(): Client {
    // Clients of one process would share a connection.
    return connect(this.#server.address, { "grpc.use_local_subchannel_pool": 1 });
  }
}

/** A new control plane and door for each test. */
export function useRainbowBed(): RainbowBed {
  const bed = new RainbowBed();
  beforeEach(async () => await bed.open());
  afterEach(async () => await bed.close());
  return bed;
}

export const graphOf = (nodes: number, cores = 4): string =>
  JSON.stringify(
    documentOf({
      type: "cluster",
      inside: [
        {
          type: "rack",
          inside: times(nodes, { type: "node", inside: times(cores, { type: "core" }) }),
        },
      ],
    }),
  );

export const simple = (nodes: number, tasks: number, command = ["hostname"]): string =>
  JSON.stringify({
    version: 1,
    resources: {
      it: {
        type: "rack",
        replicas: 1,
        with: [{ type: "node", count: nodes, with: [{ type: "core", count: tasks }] }],
      },
    },
    tasks: [{ command, resources: "it" }],
  });

/** The message of a rejected call; its code must be UNKNOWN, like every rejection of that server. */
export async function refusal(answer: Promise<unknown>): Promise<string> {
  const error = await failure(answer);
  expect(error.code).toBe(status.UNKNOWN);
  return error.details;
}
