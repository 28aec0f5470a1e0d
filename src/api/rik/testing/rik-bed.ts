import { create } from "@bufbuild/protobuf";
import type { Client, ClientReadableStream } from "@grpc/grpc-js";
import { afterEach } from "vitest";
import {
  ResourceStatus,
  type WorkerStatus,
  WorkerStatusSchema,
  WorkloadRequestKind,
} from "../../../gen/rik/v1/common_pb.ts";
import { Controller } from "../../../gen/rik/v1/controller_pb.ts";
import { type InstanceScheduling, Worker } from "../../../gen/rik/v1/worker_pb.ts";
import { describeChain } from "../../../lib/errors.ts";
import { createMemoryStore, MemoryDisk } from "../../../store/memory/memory-store.ts";
import { eventually } from "../../../testing/eventually.ts";
import type { FakeClock } from "../../../testing/fake-clock.ts";
import { aPlane, type TestPlane } from "../../../testing/plane.ts";
import type { Logger } from "../../../ports/logger.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { call, connect, openBidi, stream } from "../../grpc/testing/grpc-client.ts";
import { EventGate } from "./event-gate.ts";
import { openRikDoor, RIK_SETTINGS, type RikDoor, type RikSettings } from "../door.ts";

export const POD = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  name: "web",
  spec: { containers: [{ name: "main", image: "alpine:latest" }] },
});

export const metricsOf = (cpus: number, gib = 8): string =>
  JSON.stringify({
    cpu: { total: cpus, free: 50.5 },
    memory: { total: gib * 2 ** 30, free: gib * 2 ** 29 },
    disks: [{ disk_name: "/dev/vda", total: 2 ** 36, free: 2 ** 35 }],
  });

/** Waits until it throws nothing. */
export async function until(check: () => void | Promise<void>): Promise<void> {
  let last: unknown;
  const isFine = async (): Promise<boolean> => {
    try {
      await check();
      return true;
    } catch (error) {
      last = error;
      return false;
    }
  };
  await eventually(isFine, { what: () => describeChain(last) });
}

/** A worker whose messages the test controls. */
export class TestWorker {
  readonly client: Client;
  readonly host: string;
  readonly orders: InstanceScheduling[] = [];
  readonly stream: ClientReadableStream<InstanceScheduling>;
  readonly hasHeaders: Promise<void>;
  /** The end of its stream; undefined: it is open. */
  code: number | undefined;
  details = "";

  constructor(
    address: string,
    host: string,
    answers: (order: InstanceScheduling) => ResourceStatus[],
    user = "",
  ) {
    this.client = connect(address, optionsOf(address, user));
    this.host = host;
    this.stream = stream(this.client, Worker.method.register, { hostname: host });
    this.hasHeaders = new Promise((resolve) => {
      this.stream.once("metadata", () => resolve());
      this.stream.once("status", () => resolve());
    });
    this.stream.on("error", () => undefined);
    this.stream.on("status", ({ code, details }) => ([this.code, this.details] = [code, details]));
    this.stream.on("data", (order: InstanceScheduling) => {
      this.orders.push(order);
      for (const status of answers(order))
        this.tell(order.instanceId, status).catch(() => undefined);
    });
  }

  send(status: Parameters<typeof create<typeof WorkerStatusSchema>>[1]): Promise<void> {
    return new Promise((resolve, reject) => {
      const one = openBidi(this.client, Worker.method.sendStatusUpdates);
      one.on("data", () => undefined);
      one.on("error", reject);
      one.on("end", () => resolve());
      one.write(create(WorkerStatusSchema, status));
      one.end();
    });
  }

  beat(metrics = metricsOf(4), status: ResourceStatus = ResourceStatus.RUNNING): Promise<void> {
    return this.send({
      identifier: this.host,
      status: { case: "worker", value: { status, metrics } },
    });
  }

  tell(instanceId: string, status: ResourceStatus): Promise<void> {
    const value = { instanceId, status, metrics: "" };
    return this.send({ identifier: this.host, status: { case: "instance", value } });
  }

  close(): void {
    this.stream.cancel();
    this.client.close();
  }
}

/** `user`: the user part of a URL, "name:token@", which goes into `:authority` as rik's programs send it. */
const optionsOf = (address: string, user: string): Record<string, number | string> => ({
  "grpc.use_local_subchannel_pool": 1,
  ...(user === "" ? {} : { "grpc.default_authority": user + address }),
});

/** Channel options of a client that the server takes for rik's own controller. */
export const LIKE_RIK = { "grpc.primary_user_agent": "tonic/0.8.3" };

/** Like riklet. */
export const likeRiklet = ({ action }: InstanceScheduling): ResourceStatus[] =>
  action === WorkloadRequestKind.CREATE
    ? [ResourceStatus.CREATING, ResourceStatus.RUNNING]
    : [ResourceStatus.TERMINATED];

export class TestController {
  readonly client: Client;
  readonly told: WorkerStatus[] = [];
  #stream: ClientReadableStream<WorkerStatus> | undefined;
  isEnded = false;

  constructor(address: string, options: Record<string, number | string> = {}, user = "") {
    this.client = connect(address, { ...optionsOf(address, user), ...options });
  }

  async subscribe(): Promise<void> {
    const opened = stream(this.client, Controller.method.getStatusUpdates, {});
    this.#stream = opened;
    opened.on("data", (status: WorkerStatus) => this.told.push(status));
    opened.on("error", () => undefined);
    opened.on("end", () => (this.isEnded = true));
    await new Promise<void>((resolve) => opened.once("metadata", () => resolve()));
  }

  async schedule(instanceId: string, definition = POD, workloadId = "w1"): Promise<void> {
    const action = WorkloadRequestKind.CREATE;
    const request = { instanceId, definition, workloadId, action };
    await call(this.client, Controller.method.scheduleInstance, request);
  }

  async destroy(instanceId: string, definition = POD): Promise<void> {
    const action = WorkloadRequestKind.DESTROY;
    const request = { instanceId, definition, workloadId: "w1", action };
    await call(this.client, Controller.method.scheduleInstance, request);
  }

  /** The statuses of one instance, in order of arrival. */
  of(instanceId: string): ResourceStatus[] {
    return this.told.flatMap(({ status }) =>
      status.case === "instance" && status.value.instanceId === instanceId
        ? [status.value.status]
        : [],
    );
  }

  metricsOf(instanceId: string): string {
    const last = this.told.findLast(
      ({ status }) => status.case === "instance" && status.value.instanceId === instanceId,
    );
    return last?.status.case === "instance" ? last.status.value.metrics : "";
  }

  async until(instanceId: string, status: ResourceStatus): Promise<void> {
    await until(() => {
      const told = this.of(instanceId);
      if (told.at(-1) !== status) throw new Error(`${instanceId} was told ${told.join()}`);
    });
  }

  close(): void {
    this.#stream?.cancel();
    this.client.close();
  }
}

type BedSettings = Partial<RikSettings> & { readonly secret?: string; readonly logger?: Logger };

/** A control plane with rik's door, and its clients. */
export class RikBed {
  plane!: TestPlane;
  clock!: FakeClock;
  door!: RikDoor;
  readonly events = new EventGate();
  readonly #disk = new MemoryDisk();
  readonly #settings: BedSettings;
  #server!: GrpcServer;
  readonly #open: { close(): void }[] = [];

  constructor(settings: BedSettings = {}) {
    this.#settings = settings;
  }

  async start(): Promise<this> {
    const { secret, logger = silentLogger, ...settings } = this.#settings;
    const opened = await aPlane({
      store: createMemoryStore(this.#disk),
      ...(this.clock && { clock: this.clock }),
    });
    [this.plane, this.clock] = [opened.plane, opened.clock];
    const { operations, sessions } = this.plane;
    this.door = await openRikDoor({
      operations: this.events.before(operations),
      sessions,
      agentSecret: "a secret of the server",
      secret,
      settings: { ...RIK_SETTINGS, ...settings },
      clock: this.clock,
      random: { fraction: () => 0, token: () => `boot-${++boots}` },
      logger,
    });
    this.#server = await createGrpcServer({
      address: "127.0.0.1:0",
      services: [this.door.worker, this.door.controller],
      readsUserParts: true,
      logger: silentLogger,
      drainMs: 100,
    });
    return this;
  }

  get address(): string {
    return this.#server.address;
  }

  /** A worker that has registered. */
  async worker(host: string, answers = likeRiklet, user = ""): Promise<TestWorker> {
    const worker = new TestWorker(this.address, host, answers, user);
    this.#open.push(worker);
    await worker.hasHeaders;
    return worker;
  }

  /** A worker that accepts instances. */
  async readyWorker(
    host: string,
    answers = likeRiklet,
    metrics = metricsOf(4),
    user = "",
  ): Promise<TestWorker> {
    const worker = await this.worker(host, answers, user);
    await worker.beat(metrics);
    const node = [...this.door.workers.all].find(({ hostname }) => hostname === host)?.node ?? "";
    await until(async () => {
      const { state } = await this.plane.operations.getNode(node);
      if (state !== "connected") throw new Error(`${node} is ${state}`);
    });
    return worker;
  }

  async controller(
    options: Record<string, number | string> = {},
    user = "",
  ): Promise<TestController> {
    const controller = new TestController(this.address, options, user);
    this.#open.push(controller);
    await controller.subscribe();
    return controller;
  }

  /** One that the server takes for rik's own. */
  rikController(): Promise<TestController> {
    return this.controller(LIKE_RIK);
  }

  /** A controller that has not subscribed. */
  caller(options: Record<string, number | string> = {}): TestController {
    const controller = new TestController(this.address, options);
    this.#open.push(controller);
    return controller;
  }

  /** Everything ends at once, and another server continues with the same data. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    for (const one of this.#open.splice(0)) one.close();
    await this.#server.close();
    this.door.close();
    await this.plane.close();
  }
}

let boots = 0;

/** Opens beds; each is closed after the test that opened it. */
export function useRikBeds(): (
  settings?: ConstructorParameters<typeof RikBed>[0],
) => Promise<RikBed> {
  const beds: RikBed[] = [];
  afterEach(async () => {
    for (const bed of beds.splice(0)) await bed.stop();
  });
  return async (settings) => {
    const bed = new RikBed(settings);
    beds.push(bed);
    return bed.start();
  };
}
