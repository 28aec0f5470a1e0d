import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import { connect as connectTcp } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { Busbar, GetJobRequestSchema, JobSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { frameMessage } from "../../../lib/grpc/frames.ts";
import { createGrpcServer, type GrpcServerOptions } from "../server.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { pathOf } from "../testing/grpc-client.ts";
import { aJob } from "../../native/testing/view-builders.ts";

describe.each(["own", "node"] as const)("on our own or on Node's HTTP/2: %s", (plaintext) => {
  // The behaviour of a call on the wire, seen by Node's own HTTP/2 client: correct gRPC clients send few of these.

  const closers: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function serve(
    getJob: Operations["getJob"] = async (id) => aJob({ id }),
    options: Partial<GrpcServerOptions> = {},
  ) {
    const services = [busbarService(createFakeOperations({ getJob }), silentLogger)];
    const server = await createGrpcServer({
      plaintext,
      address: "127.0.0.1:0",
      services,
      logger: silentLogger,
      drainMs: 200,
      ...options,
    });
    const session = connect(`http://${server.address}`);
    session.on("error", () => undefined);
    closers.push(
      () => server.close(),
      () => session.destroy(),
    );
    return { server, session };
  }

  interface Outcome {
    readonly http: number | undefined;
    readonly status: number;
    readonly message: string;
    readonly data: Buffer;
  }

  /** Sends the parts one by one and returns how the call ended. */
  function ask(
    session: ClientHttp2Session,
    parts: readonly Uint8Array[],
    headers: Record<string, string> = {},
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const request = session.request({
        ":method": "POST",
        ":path": pathOf(Busbar.method.getJob),
        "content-type": "application/grpc",
        te: "trailers",
        ...headers,
      });
      const all: IncomingHttpHeaders = {};
      const data: Buffer[] = [];
      request.on("response", (got) => Object.assign(all, got));
      request.on("trailers", (got) => Object.assign(all, got));
      request.on("data", (chunk: Buffer) => data.push(chunk));
      request.on("error", reject);
      request.on("close", () =>
        resolve({
          http: Number(all[":status"]),
          status: Number(all["grpc-status"]),
          message: decodeURI(String(all["grpc-message"])),
          data: Buffer.concat(data),
        }),
      );
      void send(request, parts);
    });
  }

  async function send(request: NodeJS.WritableStream, parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) await new Promise((sent) => request.write(part, sent));
    request.end();
  }

  const request = (id: string): Uint8Array =>
    toBinary(GetJobRequestSchema, create(GetJobRequestSchema, { id }));
  const idIn = ({ data }: Outcome): string => fromBinary(JobSchema, data.subarray(5)).id;

  function compressed(bytes: Uint8Array): Buffer {
    const frame = frameMessage(bytes);
    frame[0] = 1;
    return frame;
  }

  test("a message may arrive in any pieces", async () => {
    const { session } = await serve();
    const frame = frameMessage(request("17"));
    for (const size of [1, 3, 6, frame.length]) {
      const parts: Buffer[] = [];
      for (let at = 0; at < frame.length; at += size) parts.push(frame.subarray(at, at + size));
      const answer = await ask(session, parts);
      expect([answer.status, idIn(answer)]).toEqual([0, "17"]);
    }
  });

  test("messages may be compressed", async () => {
    const { session } = await serve();
    for (const [encoding, compress] of Object.entries({ gzip: gzipSync, deflate: deflateSync })) {
      const parts = [compressed(compress(request("5")))];
      const answer = await ask(session, parts, { "grpc-encoding": encoding });
      expect([answer.status, idIn(answer)]).toEqual([0, "5"]);
    }
    const plain = await ask(session, [frameMessage(request("6"))], { "grpc-encoding": "gzip" });
    expect(idIn(plain)).toBe("6");
  });

  const zeros = Buffer.alloc(limits.messageBytesMax + 1);
  const long = Buffer.from([0, 0xff, 0, 0, 0]);
  const refused: Record<string, [Uint8Array[], number, RegExp, Record<string, string>?]> = {
    "no message": [[], 12, /no message/],
    "two messages": [[frameMessage(request("1")), frameMessage(request("2"))], 12, /more than one/],
    "half a message": [[frameMessage(request("1")).subarray(0, 6)], 3, /ends inside a message/],
    "half a length": [[Buffer.alloc(3)], 3, /ends inside a message/],
    "a message that would be too large": [[long], 8, /larger than max/],
    "what becomes too large": [
      [compressed(gzipSync(zeros))],
      8,
      /larger than max/,
      { "grpc-encoding": "gzip" },
    ],
    "what is not gzip": [
      [compressed(zeros.subarray(0, 9))],
      3,
      /not gzip/,
      { "grpc-encoding": "gzip" },
    ],
    "an unknown compression": [[compressed(request("1"))], 3, /"br"/, { "grpc-encoding": "br" }],
    "compression without a word": [[compressed(request("1"))], 3, /"identity"/],
    "a deadline that is no time": [
      [frameMessage(request("1"))],
      3,
      /grpc-timeout/,
      { "grpc-timeout": "1 h" },
    ],
  };

  for (const [name, [parts, status, message, headers]] of Object.entries(refused)) {
    test(`${name} is rejected, and the connection continues`, async () => {
      const asked: string[] = [];
      const { session } = await serve(async (id) => {
        asked.push(id);
        return aJob({ id });
      });
      const answer = await ask(session, parts, headers);
      expect([answer.http, answer.status]).toEqual([200, status]);
      expect(answer.message).toMatch(message);
      expect(asked).toEqual([]);
      expect((await ask(session, [frameMessage(request("1"))])).status).toBe(0);
    });
  }

  test("a request that is not gRPC is rejected by the rules of HTTP, an unknown path by those of gRPC", async () => {
    const { session } = await serve();
    const parts = [frameMessage(request("1"))];
    const html = await ask(session, parts, { "content-type": "text/html" });
    expect(html.http).toBe(415);
    const unknown = await ask(session, parts, { ":path": "/busbar.v1.Busbar/Nöthing" });
    expect([unknown.http, unknown.status]).toEqual([200, 12]);
  });

  test("a call without an answer by its deadline fails; its late answer does no harm", async () => {
    const late = Promise.withResolvers<void>();
    const { session } = await serve(async (id) => {
      if (id === "1") await late.promise;
      return aJob({ id });
    });
    for (const timeout of ["1m", "500u", "0S", "99n"]) {
      const answer = await ask(session, [frameMessage(request("1"))], { "grpc-timeout": timeout });
      expect(answer.status).toBe(4);
    }
    late.resolve();
    const patient = { "grpc-timeout": "99999999H" };
    expect((await ask(session, [frameMessage(request("2"))], patient)).status).toBe(0);
  });

  test("a caller that disconnects before its answer does no harm", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { session } = await serve(async (id) => {
      if (id === "1") await promise;
      return aJob({ id });
    });
    const gone = session.request({
      ":method": "POST",
      ":path": pathOf(Busbar.method.getJob),
      "content-type": "application/grpc",
    });
    gone.on("error", () => undefined);
    gone.end(frameMessage(request("1")));
    expect((await ask(session, [frameMessage(request("2"))])).status).toBe(0);
    gone.close(8);
    // The next answer comes after the server has noticed it.
    expect((await ask(session, [frameMessage(request("3"))])).status).toBe(0);
    resolve();
    expect((await ask(session, [frameMessage(request("4"))])).status).toBe(0);
  });

  test("a connection without signs of life is closed, one with signs of life stays", async () => {
    const keepalive = { intervalMs: 20, timeoutMs: 60 };
    const { server, session } = await serve(undefined, { keepalive });
    const [host, port] = server.address.split(":");
    const silentPeer = connectTcp(Number(port), host);
    silentPeer.on("error", () => undefined);
    silentPeer.resume();
    // The beginning of a connection, and then nothing: pings are not answered.
    silentPeer.write(
      Buffer.concat([
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
      ]),
    );
    await new Promise((closed) => silentPeer.once("close", closed));
    expect((await ask(session, [frameMessage(request("1"))])).status).toBe(0);
  });
});
