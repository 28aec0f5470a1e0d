import { create } from "@bufbuild/protobuf";
import { Client, credentials, status } from "@grpc/grpc-js";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { Busbar, StatsSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { busbarService } from "../native/grpc/service.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createFakeOperations } from "../native/testing/fake-operations.ts";
import { createGrpcServer } from "./server.ts";
import * as certificates from "./testing/certificates.ts";
import { call, connect, failure } from "./testing/grpc-client.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const { authority, server, client } = certificates;
const bytes = (text: string): Buffer => Buffer.from(text);

async function serve(options: { readonly ca?: boolean; readonly allowsPlaintext?: boolean } = {}) {
  const running = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [busbarService(createFakeOperations(), silentLogger)],
    logger: silentLogger,
    tls: {
      cert: bytes(server.cert),
      key: bytes(server.key),
      ca: options.ca === true ? bytes(authority) : undefined,
      allowsPlaintext: options.allowsPlaintext ?? true,
    },
  });
  closers.push(() => running.close());
  return running.address;
}

function secureClient(address: string, own?: { readonly cert: string; readonly key: string }) {
  const ssl = credentials.createSsl(
    bytes(authority),
    own === undefined ? null : bytes(own.key),
    own === undefined ? null : bytes(own.cert),
  );
  // An IP address is no server name: Node rejects it.
  const dialled = new Client(address.replace("127.0.0.1", "localhost"), ssl, {
    "grpc.enable_http_proxy": 0,
  });
  closers.push(() => dialled.close());
  return dialled;
}

function plainClient(address: string): Client {
  const dialled = connect(address);
  closers.push(() => dialled.close());
  return dialled;
}

const ask = (dialled: Client) => call(dialled, Busbar.method.getStats);

test("one port answers with and without encryption", async () => {
  const address = await serve();
  const empty = create(StatsSchema).$typeName;
  expect((await ask(secureClient(address))).$typeName).toBe(empty);
  expect((await ask(plainClient(address))).$typeName).toBe(empty);
});

test("with a configured authority, callers over TLS need its certificate", async () => {
  const address = await serve({ ca: true });
  expect((await ask(secureClient(address, client))).version).not.toBe("");
  const refused = await failure(ask(secureClient(address)));
  expect(refused.code).toBe(status.UNAVAILABLE);
});

/** Encrypts all bytes, and does not know their protocol. */
async function startTunnel(address: string): Promise<string> {
  const port = Number(address.split(":")[1]);
  const tunnel = createServer((from) => {
    const to = connectTls({ ...client, ca: authority, host: "localhost", port });
    from.pipe(to).pipe(from);
    from.on("error", () => to.destroy());
    to.on("error", () => from.destroy());
  });
  await new Promise<void>((resolve) => tunnel.listen(0, "127.0.0.1", resolve));
  closers.push(() => new Promise<void>((resolve) => void tunnel.close(() => resolve())));
  return `127.0.0.1:${(tunnel.address() as AddressInfo).port}`;
}

test("callers without TLS connect through a tunnel that has a certificate", async () => {
  const address = await serve({ ca: true, allowsPlaintext: false });
  expect((await ask(plainClient(await startTunnel(address)))).version).not.toBe("");
});

test("plaintext is cut off where it is not allowed", async () => {
  const address = await serve({ allowsPlaintext: false });
  expect((await ask(secureClient(address))).version).not.toBe("");
  expect((await failure(ask(plainClient(address)))).code).toBe(status.UNAVAILABLE);
});

test("a caller that connects and sends nothing, or garbage, does not disturb others", async () => {
  const address = await serve();
  const port = Number(address.split(":")[1]);
  for (const words of ["", "\x16nonsense", "\x00"]) {
    const socket = connectTcp(port, "127.0.0.1", () => socket.end(words));
    await new Promise((resolve) => socket.resume().once("close", resolve));
  }
  expect((await ask(secureClient(address))).version).not.toBe("");
});

test("the server rejects a key of another certificate at its start", async () => {
  const tls = { cert: bytes(server.cert), key: bytes(client.key), ca: undefined };
  const starting = createGrpcServer({
    address: "127.0.0.1:0",
    services: [],
    logger: silentLogger,
    tls: { ...tls, allowsPlaintext: true },
  });
  await expect(starting).rejects.toThrow("certificate and key cannot be used");
});
