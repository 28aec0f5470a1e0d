import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { type Client, loadPackageDefinition, makeClientConstructor, status } from "@grpc/grpc-js";
import { credentials } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Agents } from "../../gen/busbar/v1/agent_pb.ts";
import { Busbar, file_busbar_v1_busbar } from "../../gen/busbar/v1/busbar_pb.ts";
import { createGrpcServer } from "./server.ts";
import { defineService } from "./service.ts";
import { busbarService } from "../native/grpc/service.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createFakeOperations } from "../native/testing/fake-operations.ts";
import { call, connect, failure } from "./testing/grpc-client.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(address = "127.0.0.1:0") {
  const agents = defineService(
    Agents,
    { session: () => ({ message: () => undefined, closed: () => undefined }) },
    { logger: silentLogger },
  );
  const services = [busbarService(createFakeOperations(), silentLogger), agents];
  const server = await createGrpcServer({
    address,
    services,
    logger: silentLogger,
    drainMs: 10_000,
  });
  closers.push(() => server.close());
  return server;
}

test("port 0 takes a free port and says which", async () => {
  const server = await serve();
  expect(server.address).toMatch(/^127\.0\.0\.1:[1-9]\d+$/);
  const client = connect(server.address);
  closers.push(() => client.close());
  expect((await call(client, Busbar.method.getStats)).version).toBe("1.2.3");
});

test("it listens on IPv6 and names too", async () => {
  for (const address of ["[::1]:0", "localhost:0"]) {
    const server = await serve(address);
    expect(server.address.replace(/\d+$/, "0")).toBe(address);
    const client = connect(server.address);
    closers.push(() => client.close());
    await call(client, Busbar.method.getStats);
  }
});

test("a taken port is an error that says which, and how to choose another", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  closers.push(() => new Promise((resolve) => void other.close(() => resolve())));
  const { port } = other.address() as { port: number };
  await expect(serve(`127.0.0.1:${port}`)).rejects.toMatchObject({
    code: "unavailable",
    message: `127.0.0.1:${port} is taken by another program; choose another with --grpc`,
  });
});

test("an address of another machine or a wrong one is refused with its reason", async () => {
  await expect(serve("192.0.2.1:0")).rejects.toThrow("is not an address of this machine");
  await expect(serve("7071")).rejects.toThrow('--grpc: "7071" is not an address with a port');
});

test("after closing, the port is free again and closing again does nothing", async () => {
  const server = await serve();
  await server.close();
  await server.close();
  const again = await serve(server.address);
  expect(again.address).toBe(server.address);
});

test("a method that is not there is unimplemented", async () => {
  const server = await serve();
  const client = connect(server.address);
  closers.push(() => client.close());
  const method = { ...Busbar.method.getStats, name: "Nothing" };
  expect((await failure(call(client, method))).code).toBe(status.UNIMPLEMENTED);
});

type Check = (
  request: { service: string },
  done: (error: Error | null, answer: { status: string }) => void,
) => void;

test("health is SERVING for the whole and for each service, until told otherwise", async () => {
  const server = await serve();
  const Health = makeClientConstructor(healthService, "Health");
  const client = new Health(server.address, credentials.createInsecure());
  closers.push(() => client.close());
  const check = (service: string): Promise<string> =>
    new Promise((resolve, reject) => {
      (client as unknown as { check: Check }).check({ service }, (error, answer) =>
        error === null ? resolve(answer.status) : reject(error),
      );
    });
  for (const service of ["", "busbar.v1.Busbar", "busbar.v1.Agents"]) {
    expect(await check(service)).toBe("SERVING");
  }
  await expect(check("nothing")).rejects.toMatchObject({ code: status.NOT_FOUND });
  server.setServing(false);
  expect(await check("")).toBe("NOT_SERVING");
});

test("a health watch does not keep the server from closing", async () => {
  const server = await serve();
  const Health = makeClientConstructor(healthService, "Health");
  const client = new Health(server.address, credentials.createInsecure()) as unknown as Client & {
    watch(request: object): NodeJS.EventEmitter;
  };
  closers.push(() => client.close());
  const watch = client.watch({ service: "" });
  const over = new Promise((resolve) => watch.on("end", resolve).on("error", resolve));
  await new Promise((resolve) => watch.once("data", resolve));
  const startedMs = Date.now();
  await server.close();
  await over;
  expect(Date.now() - startedMs).toBeLessThan(9_000);
});

interface Reflected {
  listServicesResponse?: { service: { name: string }[] };
  fileDescriptorResponse?: { fileDescriptorProto: Uint8Array[] };
  errorResponse?: { errorCode: number };
}

for (const version of ["v1", "v1alpha"]) {
  test(`reflection ${version} lists the services and gives the files they are made of`, async () => {
    const server = await serve();
    const ask = reflectionClient(server.address, version);
    const listed = await ask({ listServices: "*" });
    const names = listed.listServicesResponse?.service.map(({ name }) => name);
    expect(names?.sort()).toEqual(["busbar.v1.Agents", "busbar.v1.Busbar"]);
    const found = await ask({ fileContainingSymbol: "busbar.v1.Busbar" });
    const files = (found.fileDescriptorResponse?.fileDescriptorProto ?? []).map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, Buffer.from(bytes)),
    );
    expect(files.map(({ name }) => name).sort()).toEqual([
      "busbar/v1/agent.proto",
      "busbar/v1/busbar.proto",
      "busbar/v1/cluster.proto",
    ]);
    const busbar = files.find(({ name }) => name === "busbar/v1/busbar.proto");
    expect(busbar).toEqual(file_busbar_v1_busbar.proto);
    const missing = await ask({ fileContainingSymbol: "nothing.There" });
    expect(missing.errorResponse?.errorCode).toBe(status.NOT_FOUND);
  });
}

test("reflection gives the files that a service's own file imports", async () => {
  const services = [busbarService(createFakeOperations(), silentLogger)];
  const server = await createGrpcServer({ address: "127.0.0.1:0", services, logger: silentLogger });
  closers.push(() => server.close());
  const ask = reflectionClient(server.address, "v1");
  const found = await ask({ fileContainingSymbol: "busbar.v1.OutputStream" });
  expect(found.fileDescriptorResponse?.fileDescriptorProto).toHaveLength(1);
  const listed = await ask({ listServices: "*" });
  expect(listed.listServicesResponse?.service).toEqual([{ name: "busbar.v1.Busbar" }]);
});

/** What grpcurl does, with the libraries that the reflection package itself depends on. */
function reflectionClient(address: string, version: string) {
  const require = createRequire(import.meta.resolve("@grpc/reflection"));
  const loader = require("@grpc/proto-loader") as {
    loadSync(path: string, options: object): never;
  };
  const path = require.resolve(
    `@grpc/reflection/build/proto/grpc/reflection/${version}/reflection.proto`,
  );
  const options = { oneofs: true, longs: String, enums: String };
  const loaded = loadPackageDefinition(loader.loadSync(path, options)) as never as {
    grpc: { reflection: Record<string, { ServerReflection: new (...args: unknown[]) => Client }> };
  };
  const Reflection = loaded.grpc.reflection[version]?.ServerReflection;
  if (Reflection === undefined) throw new Error(`no reflection ${version}`);
  const client = new Reflection(address, credentials.createInsecure()) as Client & {
    serverReflectionInfo(): NodeJS.ReadWriteStream;
  };
  const info = client.serverReflectionInfo();
  closers.push(() => {
    info.end();
    client.close();
  });
  return (request: object): Promise<Reflected> =>
    new Promise((resolve, reject) => {
      info.once("error", reject);
      info.once("data", (answer) => resolve(answer as unknown as Reflected));
      info.write(request as never);
    });
}
