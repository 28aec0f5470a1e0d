import { eventually } from "../../../testing/eventually.ts";
import { type ClientReadableStream, status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { limits } from "../../../limits.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { createGrpcServer } from "../server.ts";
import { call, connect, failure, stream } from "../testing/grpc-client.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve() {
  const services = [busbarService(createFakeOperations(), silentLogger)];
  const options = { address: "127.0.0.1:0", services, logger: silentLogger, drainMs: 10_000 };
  const server = await createGrpcServer(options);
  closers.push(() => server.close());
  return { server, client: dial(server.address) };
}

/** Its own connection: clients of grpc-js would share one otherwise. */
function dial(address: string) {
  const client = connect(address, { "grpc.use_local_subchannel_pool": 1 });
  closers.push(() => client.close());
  return client;
}

function read(watch: ClientReadableStream<HealthCheckResponse>) {
  const seen = { statuses: [] as Status[], code: undefined as number | undefined };
  watch.on("data", (answer: HealthCheckResponse) => seen.statuses.push(answer.status));
  watch.on("error", () => undefined);
  watch.on("status", ({ code }) => (seen.code = code));
  closers.push(() => watch.cancel());
  return seen;
}

const NAMES = [
  "",
  "busbar.v1.Busbar",
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];

test("a check is SERVING for the whole and for each service, until the server changes it", async () => {
  const { server, client } = await serve();
  const check = async (service: string) =>
    (await call(client, Health.method.check, { service })).status;
  for (const name of NAMES) expect(await check(name)).toBe(Status.SERVING);
  const { code, details } = await failure(check("busbar.v1.Agents"));
  expect([code, details]).toEqual([
    status.NOT_FOUND,
    'this port serves no service "busbar.v1.Agents"',
  ]);
  server.setServing(false);
  for (const name of NAMES) expect(await check(name)).toBe(Status.NOT_SERVING);
});

test("a list has the status of every service of this port", async () => {
  const { client } = await serve();
  const { statuses } = await call(client, Health.method.list);
  expect(Object.keys(statuses).toSorted()).toEqual(NAMES);
  expect(new Set(Object.values(statuses).map((each) => each.status))).toEqual(
    new Set([Status.SERVING]),
  );
});

test("a watch sends each change once; the watch of an unknown service stays open with SERVICE_UNKNOWN", async () => {
  const { server, client } = await serve();
  const known = read(stream(client, Health.method.watch, { service: "busbar.v1.Busbar" }));
  const unknown = read(stream(client, Health.method.watch, { service: "nothing" }));
  await eventually(() => known.statuses.length === 1 && unknown.statuses.length === 1, {
    what: "both began",
  });
  for (const isServing of [false, false, true]) server.setServing(isServing);
  await eventually(() => known.statuses.length === 3, { what: "each change" });
  expect(known.statuses).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
  expect(unknown).toEqual({ statuses: [Status.SERVICE_UNKNOWN], code: undefined });
});

test("a watch does not keep the server from closing, and receives NOT_SERVING before it ends", async () => {
  const { server, client } = await serve();
  const watch = read(stream(client, Health.method.watch));
  await eventually(() => watch.statuses.length === 1, { what: "the first status" });
  const startedMs = Date.now();
  await server.close();
  expect(Date.now() - startedMs).toBeLessThan(9_000);
  await eventually(() => watch.code !== undefined, { what: "the end" });
  expect(watch).toEqual({
    statuses: [Status.SERVING, Status.NOT_SERVING],
    code: status.UNAVAILABLE,
  });
});

test("watches are bounded for a connection and for the port, and a closed one frees its place", async () => {
  const { server, client } = await serve();
  const { healthWatchesPerConnectionMax: perConnection, healthWatchesMax: max } = limits;
  const open = (to: typeof client, count: number) =>
    Array.from({ length: count }, () => {
      const watch = stream(to, Health.method.watch);
      return { watch, seen: read(watch) };
    });
  const begun = (watches: ReturnType<typeof open>) =>
    eventually(() => watches.every(({ seen }) => seen.statuses.length === 1), {
      what: "all watches",
    });
  const refused = async (to: typeof client) => {
    const [extra] = open(to, 1);
    await eventually(() => extra?.seen.code !== undefined, { what: "the refusal" });
    expect(extra?.seen).toEqual({ statuses: [], code: status.RESOURCE_EXHAUSTED });
  };
  const first = open(client, perConnection);
  await begun(first);
  await refused(client);
  first[0]?.watch.cancel();
  await eventually(() => first[0]?.seen.code === status.CANCELLED, { what: "the cancellation" });
  await begun(open(client, 1));
  for (let count = perConnection; count < max; count += perConnection)
    await begun(open(dial(server.address), perConnection));
  await refused(dial(server.address));
});
