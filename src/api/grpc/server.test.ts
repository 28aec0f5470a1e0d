import { createServer } from "node:net";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { Agents } from "../../gen/busbar/v1/agent_pb.ts";
import { Busbar } from "../../gen/busbar/v1/busbar_pb.ts";
import { createGrpcServer } from "./server.ts";
import { defineService } from "./service.ts";
import { busbarService } from "../native/grpc/service.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createFakeOperations } from "../native/testing/fake-operations.ts";
import { call, connect, failure } from "./testing/grpc-client.ts";

describe.each(["own", "node"] as const)("on our own or on Node's HTTP/2: %s", (plaintext) => {
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
      plaintext,
      address,
      services,
      logger: silentLogger,
      drainMs: 10_000,
    });
    closers.push(() => server.close());
    return server;
  }

  test("port 0 takes a free port and returns it", async () => {
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

  test("the error about a port in use names it, and says how to choose another", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    closers.push(() => new Promise((resolve) => void other.close(() => resolve())));
    const { port } = other.address() as { port: number };
    await expect(serve(`127.0.0.1:${port}`)).rejects.toMatchObject({
      code: "unavailable",
      message: `127.0.0.1:${port} is taken by another program; choose another with --grpc`,
    });
  });

  test("an address of another machine or an invalid one is rejected with the reason", async () => {
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

  test("an unknown method is unimplemented", async () => {
    const server = await serve();
    const client = connect(server.address);
    closers.push(() => client.close());
    const method = { ...Busbar.method.getStats, name: "Nothing" };
    expect((await failure(call(client, method))).code).toBe(status.UNIMPLEMENTED);
  });
});
