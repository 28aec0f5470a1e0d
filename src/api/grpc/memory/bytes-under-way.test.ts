import { create, toBinary } from "@bufbuild/protobuf";
import { connect as connectHttp2 } from "node:http2";
import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Busbar, GetJobRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { createHttpServer } from "../../native/http/http-server.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { aJob } from "../../native/testing/view-builders.ts";
import { AnswerBytes } from "./answer-bytes.ts";
import type { CallMemory } from "./call-memory.ts";
import { RequestBytes } from "./request-bytes.ts";
import { createGrpcServer } from "../server.ts";
import { call, connect, pathOf } from "../testing/grpc-client.ts";
import { Unpacking } from "../calls/unpacking.ts";

describe.each(["own", "node"] as const)("on our own or on Node's HTTP/2: %s", (plaintext) => {
  const MIB = 1024 ** 2;
  const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000 });
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function serve(stallMs = 60_000) {
    const memory: CallMemory = {
      requests: new RequestBytes({
        largeTotalMax: 8 * MIB,
        largePerConnectionMax: 4 * MIB + 1024,
        waitingMax: 4,
        stallMs,
      }),
      answers: new AnswerBytes(),
      unpacking: new Unpacking(),
    };
    const operations = createFakeOperations({ getJob: async (id) => aJob({ id }) });
    const shared = { logger: silentLogger, memory, drainMs: 200, address: "127.0.0.1:0" };
    const grpc = await createGrpcServer({
      plaintext,
      ...shared,
      services: [busbarService(operations, silentLogger)],
    });
    const http = await createHttpServer({ ...shared, operations, version: "1" });
    closers.push(
      () => grpc.close(),
      () => http.close(),
    );
    return { memory, grpc: grpc.address, http: http.address };
  }

  /** Announces more than it ever sends. */
  function neverEnding(address: string, sent = 3 * MIB) {
    const session = connectHttp2(`http://${address}`);
    session.on("error", () => undefined);
    closers.push(() => session.destroy());
    const head = Buffer.alloc(5);
    head.writeUInt32BE(4 * MIB - 5, 1);
    const headers = {
      ":method": "POST",
      ":path": pathOf(Busbar.method.submitJobs),
      "content-type": "application/grpc",
      te: "trailers",
    };
    const stream = session.request(headers);
    const answer: { status?: string; message?: string } = {};
    stream.on("error", () => undefined);
    stream.on("response", (got) => {
      answer.status = String(got["grpc-status"]);
      answer.message = decodeURI(String(got["grpc-message"]));
    });
    stream.write(Buffer.concat([head, Buffer.alloc(sent)]));
    return { session, answer };
  }

  async function getJob(address: string) {
    const client = connect(address);
    closers.push(() => client.close());
    return call(client, Busbar.method.getJob, { id: "17" });
  }

  test("streams that never end hold no more than the budget, small calls pass, and all bytes are released", async () => {
    const { memory, grpc, http } = await serve();
    const streams = Array.from({ length: 10 }, () => neverEnding(grpc));
    const refused = () => streams.filter(({ answer }) => answer.status === "8");
    await eventually(() => expect(refused()).toHaveLength(4));
    expect(refused()[0]?.answer.message).toMatch(/bytes of large requests are under way/);
    expect(memory.requests.counts).toMatchObject({ large: 8 * MIB, waiting: 4, open: 2 });
    expect((await getJob(grpc)).id).toBe("17");
    const answer = await fetch(`http://${http}/v1/jobs/17`);
    expect(answer.status).toBe(200);
    const body = "x".repeat(MIB);
    const large = await fetch(`http://${http}/v1/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ command: [body] }),
    });
    expect([large.status, large.headers.get("retry-after")]).toEqual([429, "1"]);
    for (const { session } of streams) session.destroy();
    await eventually(() =>
      expect(memory.requests.counts).toMatchObject({ small: 0, large: 0, waiting: 0, open: 0 }),
    );
  });

  test("a call that waits for memory is answered once a stream without progress is dropped", async () => {
    const { memory, grpc } = await serve(100);
    const idle = [neverEnding(grpc), neverEnding(grpc)];
    await eventually(() => expect(memory.requests.counts.large).toBe(8 * MIB));
    const client = connect(grpc);
    closers.push(() => client.close());
    const command = ["x".repeat(limits.smallMessageBytesMax * 2)];
    const submitted = await call(client, Busbar.method.submitJobs, {
      jobs: [{ spec: { command } }],
    }).catch((error: unknown) => error);
    expect(String(submitted)).not.toMatch(/RESOURCE_EXHAUSTED/);
    await eventually(() => expect(idle.map(({ answer }) => answer.status)).toContain("8"));
  });

  test("REST bodies that never end hold no more than the budget, and all bytes are released", async () => {
    const { memory, http } = await serve();
    const [host, port] = http.split(":");
    const statuses: number[] = [];
    const requests = Array.from({ length: 8 }, () => {
      const headers = { "content-type": "application/json", "content-length": 4 * MIB };
      const request = httpRequest({ host, port, path: "/v1/jobs", method: "POST", headers });
      request.on("error", () => undefined);
      request.on("response", (answer) => {
        statuses.push(answer.statusCode ?? 0);
        answer.resume();
      });
      request.write(Buffer.alloc(3 * MIB, 0x20));
      closers.push(() => request.destroy());
      return request;
    });
    await eventually(() => expect(statuses).toEqual([429, 429]));
    expect(memory.requests.counts).toMatchObject({ large: 8 * MIB, waiting: 4, open: 2 });
    for (const request of requests) request.destroy();
    await eventually(() =>
      expect(memory.requests.counts).toMatchObject({ small: 0, large: 0, waiting: 0, open: 0 }),
    );
  });

  test("a message in pieces of one byte costs blocks, not a piece for each byte", async () => {
    const { grpc, memory } = await serve();
    const session = connectHttp2(`http://${grpc}`);
    closers.push(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": pathOf(Busbar.method.getJob),
      "content-type": "application/grpc",
      te: "trailers",
    });
    const message = toBinary(GetJobRequestSchema, create(GetJobRequestSchema, { id: "17" }));
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    for (const byte of frame) stream.write(Buffer.of(byte));
    stream.end();
    const status = await new Promise((resolve) => {
      stream.on("trailers", (got) => resolve(got["grpc-status"]));
      stream.resume();
    });
    expect(String(status)).toBe("0");
    await eventually(() => expect(memory.requests.counts).toMatchObject({ small: 0, open: 0 }));
  });

  test("unread answers are bounded: the stream unread for longest is cut off", () => {
    const answers = new AnswerBytes({ totalMax: 100, perConnectionMax: 60 });
    const log: string[] = [];
    const [one, other] = [{ bytes: 0 }, { bytes: 0 }];
    const first = answers.open(one, () => log.push("first"));
    const second = answers.open(one, () => log.push("second"));
    const third = answers.open(other, () => log.push("third"));
    first.add(20);
    second.add(20);
    third.add(50);
    first.sent(5);
    expect(log).toEqual([]);
    second.add(20);
    expect([log, answers.counts.bytes]).toEqual([["third"], 55]);
    first.add(20);
    expect([log, answers.counts.bytes]).toEqual([["third", "second"], 35]);
    first.end();
    expect(answers.counts).toMatchObject({ bytes: 0, unread: 0, dropped: 2 });
    // For the idle collector: only it frees this memory.
    expect(answers.counts.released).toBe(50 + 5 + 40 + 35);
  });
});
