import { eventually } from "../../../testing/eventually.ts";
import { constants } from "node:http2";
import { create, type DescMessage } from "@bufbuild/protobuf";
import { type Client, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import {
  Agents,
  type AgentMessage,
  AgentMessageSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../../gen/busbar/v1/agent_pb.ts";
import { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { BidiPeer, BidiReceiver } from "./bidi.ts";
import { createGrpcServer } from "../server.ts";
import { defineService, type GrpcService } from "../service.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { endingWatch, fakeWatch } from "../../native/testing/fake-watch.ts";
import { collect, connect, failure, openBidi, openUnread, stream } from "../testing/grpc-client.ts";
import { settle, whenSettled } from "../testing/settle.ts";
import { aJob } from "../../native/testing/view-builders.ts";

describe.each(["own", "node"] as const)("on our own or on Node's HTTP/2: %s", (plaintext) => {
  const closers: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** A server logs a warning when it had to cut a connection. */
  const warnings: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: object, message: string) => void warnings.push(message),
  };

  async function serve(service: GrpcService, drainMs = 200) {
    warnings.length = 0;
    const options = { address: "127.0.0.1:0", services: [service], logger, drainMs, plaintext };
    const server = await createGrpcServer(options);
    const client: Client = connect(server.address);
    closers.push(
      () => server.close(),
      () => client.close(),
    );
    return { server, client };
  }

  /** Their messages do not matter here. */
  type AnyStream = Parameters<typeof stream<DescMessage, DescMessage>>[1];
  type Piece = "large" | "small";
  type Pieces = (signal: AbortSignal) => AsyncGenerator<Piece>;

  /** The call pulls messages from a source, or a source pushes them. */
  const KINDS = [
    {
      name: "pulled",
      method: Busbar.method.readOutput as AnyStream,
      overrides: (pieces: Pieces): Partial<Operations> => ({
        async *readOutput(_, signal) {
          for await (const piece of pieces(signal)) {
            const data = Buffer.alloc(piece === "large" ? 4 * 1_024 : 1);
            yield { data, truncated: false };
          }
        },
      }),
    },
    {
      name: "pushed",
      method: Busbar.method.watch as AnyStream,
      overrides: (pieces: Pieces): Partial<Operations> => ({
        watch: fakeWatch(async function* (_, signal) {
          let revision = 0;
          for await (const piece of pieces(signal)) {
            const job = aJob({ reason: "x".repeat(piece === "large" ? 4 * 1_024 : 1) });
            yield { kind: "job", revision: ++revision, job };
          }
        }),
      }),
    },
  ] as const;

  /** Endless large pieces; counts the pulls, and records its end. */
  function endless() {
    const source = { pulled: 0, isClosed: false };
    const pieces: Pieces = async function* () {
      try {
        for (;;) {
          source.pulled += 1;
          yield "large";
        }
      } finally {
        source.isClosed = true;
      }
    };
    return { source, pieces };
  }

  /** Sends nothing after its beginning until it has to end. */
  function quiet() {
    const source = { isClosed: false };
    const pieces: Pieces = async function* (signal) {
      try {
        yield "small";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        source.isClosed = true;
      }
    };
    return { source, pieces };
  }

  describe.each(KINDS)("a stream that is $name", ({ method, overrides }) => {
    const serviceOf = (pieces: Pieces): GrpcService =>
      busbarService(createFakeOperations(overrides(pieces)), silentLogger);

    test("a source is not pulled while the caller does not read, and continues when it does", async () => {
      const { source, pieces } = endless();
      const { server } = await serve(serviceOf(pieces));
      const call = openUnread(server.address, method);
      closers.push(() => call.close());
      // A window of 64 KiB and a buffer of 16 KiB; then it must stop.
      const pulledUnread = await whenSettled(() => source.pulled);
      expect(pulledUnread).toBeGreaterThan(1);
      expect(pulledUnread).toBeLessThan(40);
      call.read();
      await eventually(() => source.pulled > pulledUnread + 100, { what: "reading lets it go on" });
      call.close();
      await eventually(() => source.isClosed, { what: "the source was closed" });
    });

    test("a caller that disconnects closes the source, even a silent one", async () => {
      const { source, pieces } = quiet();
      const { client } = await serve(serviceOf(pieces));
      const call = stream(client, method);
      const failed = failure(collect(call));
      await new Promise((resolve) => call.once("metadata", resolve));
      call.cancel();
      expect((await failed).code).toBe(status.CANCELLED);
      await eventually(() => source.isClosed, { what: "the source was closed" });
    });

    test("a caller that never reads and disconnects closes the source", async () => {
      const { source, pieces } = endless();
      const { server } = await serve(serviceOf(pieces));
      const call = openUnread(server.address, method);
      await whenSettled(() => source.pulled);
      expect(source.isClosed).toBe(false);
      call.close();
      await eventually(() => source.isClosed, { what: "the source was closed" });
    });

    test("a caller that never reads does not keep the server from closing", async () => {
      const { source, pieces } = endless();
      const { server } = await serve(serviceOf(pieces), 50);
      const call = openUnread(server.address, method);
      closers.push(() => call.close());
      await eventually(() => source.pulled > 1, { what: "the first events were sent" });
      await server.close();
      await eventually(() => source.isClosed, { what: "the source was closed" });
    });

    test("closing the server ends streams with a message, and calls no handler again", async () => {
      const { source, pieces } = quiet();
      const service = serviceOf(pieces);
      const { client, server } = await serve(service, 60_000);
      const call = stream(client, method);
      const failed = failure(collect(call));
      await new Promise((resolve) => call.once("metadata", resolve));
      await server.close();
      expect(await failed).toMatchObject({
        code: status.UNAVAILABLE,
        details: "the server is stopping; try again soon",
      });
      expect(source.isClosed).toBe(true);
      expect(warnings).toEqual([]);
    });
  });

  test("a stream that does not end is cut off at the timeout", async () => {
    const readOutput: Operations["readOutput"] = async function* () {
      yield { data: Buffer.alloc(1), truncated: false };
      await new Promise(() => undefined);
    };
    const { client, server } = await serve(
      busbarService(createFakeOperations({ readOutput }), silentLogger),
      50,
    );
    const call = stream(client, Busbar.method.readOutput);
    const failed = failure(collect(call));
    await new Promise((resolve) => call.once("metadata", resolve));
    await server.close();
    expect(await failed).toBeInstanceOf(Error);
    expect(warnings).toEqual(["gRPC streams did not end in time and are cut off"]);
  });

  test("an error in the middle of a stream comes after the messages sent before it", async () => {
    const watch = fakeWatch(async function* () {
      yield { kind: "sync", revision: 1 };
      throw new AppError("exhausted", "too slow", { revision: 7 });
    });
    const { client } = await serve(busbarService(createFakeOperations({ watch }), silentLogger));
    const seen: bigint[] = [];
    const call = stream(client, Busbar.method.watch);
    call.on("data", ({ revision }: { revision: bigint }) => seen.push(revision));
    const error = await new Promise<ServiceError>((resolve) => call.once("error", resolve));
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(error.metadata.get("busbar-revision")).toEqual(["7"]);
    expect(seen).toEqual([1n]);
  });

  describe("a reader whose stream ended while it did not read", () => {
    async function endUnread(isCut: boolean) {
      const error = new AppError("exhausted", "too slow", { revision: 7 });
      const operations = createFakeOperations({ watch: endingWatch(error, isCut) });
      const { server } = await serve(busbarService(operations, silentLogger));
      const call = openUnread(server.address, Busbar.method.watch);
      closers.push(call.close);
      await settle();
      call.read();
      return call.end();
    }

    test("receives all sent messages, and the reason", async () => {
      const { bytes, trailers } = await endUnread(false);
      expect(bytes).toBeGreaterThan(20 * 64 * 1_024);
      expect(trailers).toMatchObject({ "grpc-status": "8", "busbar-revision": "7" });
    });

    test("is not waited for after a cut", async () => {
      const { bytes, trailers, code } = await endUnread(true);
      expect(bytes).toBeLessThan(20 * 64 * 1_024);
      expect(trailers).toEqual({});
      expect(code).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  });

  /** A bidirectional service whose stream the test controls. */
  async function serveAgents(receive: (message: AgentMessage) => void | Promise<void>) {
    const opened = Promise.withResolvers<BidiPeer<ServerMessage>>();
    const ends: string[] = [];
    const session = (peer: BidiPeer<ServerMessage>): BidiReceiver<AgentMessage> => {
      opened.resolve(peer);
      return { message: receive, closed: () => void ends.push("closed") };
    };
    const { client, server } = await serve(
      defineService(Agents, { session }, { logger: silentLogger }),
    );
    const call = openBidi(client, Agents.method.session);
    const said: (string | undefined)[] = [];
    call.on("data", ({ message }: ServerMessage) => said.push(message.case));
    const over = new Promise<{ code: status; details: string }>((resolve) => {
      call.on("status", resolve);
      call.on("error", () => undefined);
    });
    return { call, over, said, ends, server, peer: opened.promise };
  }
  const hello = create(AgentMessageSchema, { message: { case: "hello", value: { node: "n" } } });
  const welcome = create(ServerMessageSchema, { message: { case: "welcome", value: {} } });
  const manyBytes = {
    message: { case: "goodbye", value: { reason: "x".repeat(10_000) } },
  } as const;

  test("a bidirectional stream carries messages both ways until one side closes it", async () => {
    const heard: (string | undefined)[] = [];
    const { call, over, said, ends, peer } = await serveAgents(
      ({ message }) => void heard.push(message.case),
    );
    call.write(hello);
    await eventually(() => heard.length === 1, { what: "the server heard" });
    (await peer).send(welcome);
    await eventually(() => said.length === 1, { what: "the client heard" });
    (await peer).close();
    (await peer).send(welcome);
    expect((await over).code).toBe(status.OK);
    expect([heard, said]).toEqual([["hello"], ["welcome"]]);
    await eventually(() => ends.length > 0, { what: "the receiver was told" });
    expect(ends).toEqual(["closed"]);
  });

  test("a client that ends its side ends a bidirectional stream", async () => {
    const { call, over, ends } = await serveAgents(() => undefined);
    call.write(hello);
    call.end();
    expect((await over).code).toBe(status.OK);
    await eventually(() => ends.length > 0, { what: "the receiver was told" });
  });

  test("while a message is being handled no more are read", async () => {
    const gate = Promise.withResolvers<void>();
    let heard = 0;
    const { call } = await serveAgents(() => {
      heard += 1;
      return gate.promise;
    });
    for (let each = 0; each < 5; each += 1) call.write(hello);
    await eventually(() => heard === 1, { what: "the first was heard" });
    await settle();
    expect(heard).toBe(1);
    gate.resolve();
    await eventually(() => heard === 5, { what: "the others were heard" });
  });

  test("an error thrown by a receiver ends the stream with that error", async () => {
    const { call, over, ends } = await serveAgents(() => {
      throw new AppError("conflict", "that name is taken");
    });
    call.write(hello);
    expect(await over).toMatchObject({
      code: status.FAILED_PRECONDITION,
      details: "that name is taken",
    });
    expect(ends).toEqual(["closed"]);
  });

  test("the stream of a peer that does not read fails before memory runs out", async () => {
    const { call, ends, peer } = await serveAgents(() => undefined);
    call.pause();
    const farewell = create(ServerMessageSchema, manyBytes);
    for (let each = 0; each < 20_000 && ends.length === 0; each += 1) (await peer).send(farewell);
    expect(ends).toEqual(["closed"]);
    expect((await peer).queued).toBeLessThan(10_100);
    call.cancel();
  });

  test("closing the server ends bidirectional streams with a message", async () => {
    const { call, over, ends, server, peer } = await serveAgents(() => undefined);
    call.write(hello);
    await peer;
    await server.close();
    expect((await over).code).toBe(status.UNAVAILABLE);
    expect(ends).toEqual(["closed"]);
  });
});
