import { eventually } from "../../../testing/eventually.ts";
import { randomBytes } from "node:crypto";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { AgentMessageSchema, Agents } from "../../../gen/busbar/v1/agent_pb.ts";
import { Busbar, GetJobRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { aJob } from "../../native/testing/view-builders.ts";
import { frameMessage } from "../../../lib/grpc/frames.ts";
import { createGrpcServer } from "../server.ts";
import { defineService, type GrpcService } from "../service.ts";
import { pathOf } from "../testing/grpc-client.ts";
import { Unpacking } from "./unpacking.ts";

describe.each(["own", "node"] as const)("on our own or on Node's HTTP/2: %s", (plaintext) => {
  const MIB = 1024 ** 2;
  const packed = (bytes: Buffer, bytesMax = 64 * MIB) => ({ bytes, encoding: "gzip", bytesMax });
  const always = (): boolean => true;
  const zeros = gzipSync(Buffer.alloc(32 * MIB), { level: 1 });

  test("other work has its turn while a message is unpacked", async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const message = await new Unpacking().unpack(packed(zeros), always);
    isDone = true;
    expect(message?.length).toBe(32 * MIB);
    expect(turns).toBeGreaterThan(10);
  });

  test("few messages are unpacked at a time, and those of ended calls are not", async () => {
    const unpacking = new Unpacking();
    const begun: number[] = [];
    const all = Array.from({ length: 5 }, (_, at) =>
      unpacking.unpack(packed(zeros), () => begun.push(at) !== 4),
    );
    expect(begun).toEqual(Array.from({ length: limits.unpackingsAtOnceMax }, (_, at) => at));
    const lengths = (await Promise.all(all)).map((message) => message?.length);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    expect(lengths.filter((length) => length === 32 * MIB)).toHaveLength(4);
    expect(lengths[3]).toBeUndefined();
  });

  test("a message that becomes too large or is not compressed is rejected, and frees its place", async () => {
    const unpacking = new Unpacking();
    for (let round = 0; round <= limits.unpackingsAtOnceMax; round++) {
      await expect(unpacking.unpack(packed(zeros, MIB), always)).rejects.toMatchObject({
        code: "exhausted",
        message: expect.stringMatching(/larger than max/) as string,
      });
      await expect(unpacking.unpack(packed(Buffer.alloc(9)), always)).rejects.toMatchObject({
        code: "invalid_argument",
      });
    }
  });

  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function serve(service: GrpcService) {
    const options = {
      address: "127.0.0.1:0",
      services: [service],
      logger: silentLogger,
      drainMs: 200,
    };
    const server = await createGrpcServer({ ...options, plaintext });
    const session = connect(`http://${server.address}`);
    session.on("error", () => undefined);
    closers.push(
      () => server.close(),
      () => session.destroy(),
    );
    return (method: Parameters<typeof pathOf>[0]) =>
      session.request({
        ":method": "POST",
        ":path": pathOf(method),
        "content-type": "application/grpc",
        te: "trailers",
        "grpc-encoding": "gzip",
      });
  }

  function compressed(bytes: Uint8Array): Buffer {
    const frame = frameMessage(gzipSync(bytes));
    frame[0] = 1;
    return frame;
  }

  /** Far larger than the limit of synchronous unpacking, also compressed. */
  const longText = (length: number): string =>
    randomBytes(8_192)
      .toString("hex")
      .repeat(length / 16_384);

  test("a small call is answered while a large message is unpacked", async () => {
    const asked: number[] = [];
    const getJob = async (id: string) => {
      asked.push(id.length);
      return aJob({ id: "1" });
    };
    const request = await serve(busbarService(createFakeOperations({ getJob }), silentLogger));
    const frameOf = (id: string) =>
      compressed(toBinary(GetJobRequestSchema, create(GetJobRequestSchema, { id })));
    const large = frameOf(longText(3 * MIB));
    expect(large.length).toBeGreaterThan(limits.unpackAtOnceBytesMax);
    for (const frame of [large, frameOf("5")]) {
      const call = request(Busbar.method.getJob);
      call.on("error", () => undefined);
      call.end(frame);
      call.resume();
    }
    await eventually(() => asked.length === 2, { what: "both are asked" });
    expect(asked).toEqual([1, 3 * MIB]);
  });

  test("messages of a stream stay in order, however they are compressed", async () => {
    const heard: number[] = [];
    let isOver = false;
    const service = defineService(
      Agents,
      {
        session: () => ({
          message: ({ message }) => {
            if (message.case === "facts") heard.push(message.value.json.length);
          },
          closed: () => (isOver = true),
        }),
      },
      { logger: silentLogger },
    );
    const stream = (await serve(service))(Agents.method.session);
    stream.on("error", () => undefined);
    stream.resume();
    const sizes = [3 * MIB, 16_384, 2 * MIB, 0, MIB, 16_384];
    for (const size of sizes) {
      const value = { json: longText(size) };
      const bytes = toBinary(
        AgentMessageSchema,
        create(AgentMessageSchema, { message: { case: "facts", value } }),
      );
      stream.write(size === 16_384 ? frameMessage(bytes) : compressed(bytes));
    }
    stream.end();
    await eventually(() => isOver, { what: "the stream is over" });
    expect(heard).toEqual(sizes);
  });
});
