import { connect } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { FLAG, FRAME, SETTING } from "../../../../lib/http2/frames.ts";
import { number, text } from "../../../../lib/http2/testing/random-encoder.ts";
import { limits } from "../../../../limits.ts";
import { eventually } from "../../../../testing/eventually.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { Busbar } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { busbarService } from "../../../native/grpc/service.ts";
import { createFakeOperations } from "../../../native/testing/fake-operations.ts";
import { aJob } from "../../../native/testing/view-builders.ts";
import { AnswerBytes } from "../../memory/answer-bytes.ts";
import { type CallMemory, createCallMemory } from "../../memory/call-memory.ts";
import { createGrpcServer } from "../../server.ts";
import type { GrpcService } from "../../service.ts";
import { pathOf } from "../../testing/grpc-client.ts";
import {
  block,
  call,
  frame,
  RawClient,
  request,
  setting,
  START,
  uint32,
} from "../testing/raw-client.ts";

const MIB = 1024 ** 2;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(services: readonly GrpcService[] = [], memory?: CallMemory): Promise<string> {
  const server = await createGrpcServer({
    address: "127.0.0.1:0",
    services,
    memory,
    logger: silentLogger,
    drainMs: 100,
  });
  closers.push(() => server.close());
  return server.address;
}

function open(address: string): RawClient {
  const client = RawClient.to(address);
  closers.push(() => void client.socket.destroy());
  client.send(START);
  return client;
}

const many = (count: number, make: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
const idOf = (at: number): number => 2 * at + 1;
const FLOOD = 2 * limits.http2ControlFramesMax;
const RESETS = 3 * limits.http2ResetsMax;
const { PING, PRIORITY, HEADERS, DATA, CONTINUATION, WINDOW_UPDATE, RST_STREAM, GOAWAY } = FRAME;
const UNKNOWN = 0xbe;
const LARGE = Buffer.concat([Buffer.of(0x40), text("n", false), text("v".repeat(4_000), false)]);
const CANCEL = uint32(HTTP2.CANCEL);
const NOTHING = uint32(0);
const begun = (payload: Buffer): Buffer => frame(HEADERS, FLAG.END_STREAM, 1, payload);

const { ENHANCE_YOUR_CALM: calm, COMPRESSION_ERROR: compression } = HTTP2;
const { FRAME_SIZE_ERROR: size, FLOW_CONTROL_ERROR: flow } = HTTP2;

/** The bytes of each attack, and the reason of the GOAWAY that ends it. */
const ATTACKS: readonly (readonly [string, () => Buffer, number])[] = [
  ["pings", () => many(FLOOD, () => frame(PING, 0, 0, Buffer.alloc(8))), calm],
  [
    "answers to pings that nobody sent",
    () => many(FLOOD, () => frame(PING, 1, 0, Buffer.alloc(8))),
    calm,
  ],
  ["settings", () => many(FLOOD, () => frame(FRAME.SETTINGS, 0, 0)), calm],
  [
    "settings that change the windows of many calls",
    () =>
      Buffer.concat([
        many(900, (at) => request(idOf(at))),
        many(2_000, (at) =>
          frame(FRAME.SETTINGS, 0, 0, setting(SETTING.INITIAL_WINDOW_SIZE, 1_000 + (at % 2))),
        ),
      ]),
    calm,
  ],
  ["priorities", () => many(FLOOD, () => frame(PRIORITY, 0, 1, Buffer.alloc(5))), calm],
  [
    "window updates of a byte",
    () => many(FLOOD, () => frame(WINDOW_UPDATE, 0, 0, uint32(1))),
    calm,
  ],
  [
    "large window updates of an answered call",
    () =>
      Buffer.concat([
        request(1, { ":path": "/unknown" }),
        many(3 * FLOOD, () => frame(WINDOW_UPDATE, 0, 1, uint32(2_048))),
      ]),
    calm,
  ],
  [
    "bytes for a call that was reset",
    () =>
      Buffer.concat([
        request(1, { te: "gzip" }),
        many(FLOOD, () => frame(DATA, 0, 1, Buffer.alloc(1))),
      ]),
    calm,
  ],
  ["frames of unknown types", () => many(FLOOD, () => frame(UNKNOWN, 0, 0)), calm],
  ["GOAWAY", () => many(FLOOD, () => frame(GOAWAY, 0, 0, Buffer.alloc(8))), calm],
  ["empty DATA", () => Buffer.concat([request(1), many(FLOOD, () => frame(DATA, 0, 1))]), calm],
  [
    "calls that are cancelled at once",
    () =>
      many(RESETS, (at) => Buffer.concat([call(idOf(at)), frame(RST_STREAM, 0, idOf(at), CANCEL)])),
    calm,
  ],
  [
    "calls that make the server reset them",
    () =>
      many(RESETS, (at) =>
        Buffer.concat([request(idOf(at)), frame(WINDOW_UPDATE, 0, idOf(at), NOTHING)]),
      ),
    calm,
  ],
  ["malformed requests", () => many(RESETS, (at) => request(idOf(at), { te: "gzip" })), calm],
  [
    "DATA of a closed call",
    () => Buffer.concat([request(1, { te: "gzip" }), many(FLOOD, () => frame(DATA, 1, 1))]),
    calm,
  ],
  ["more calls at once than allowed", () => many(RESETS, (at) => request(idOf(at))), calm],
  [
    "empty CONTINUATION frames",
    () => Buffer.concat([begun(LARGE), many(1_000, () => frame(CONTINUATION, 0, 1))]),
    calm,
  ],
  [
    "headers without end",
    () =>
      Buffer.concat([
        begun(LARGE),
        many(9, () => frame(CONTINUATION, 0, 1, Buffer.alloc(8_192, 0x82))),
      ]),
    compression,
  ],
  [
    "few bytes that stand for many headers",
    () => frame(HEADERS, FLAG.END_HEADERS, 1, Buffer.concat([LARGE, Buffer.alloc(200, 0xbe)])),
    compression,
  ],
  [
    "a table beyond the setting",
    () => frame(HEADERS, FLAG.END_HEADERS, 1, number(limits.http2HeaderTableBytes + 1, 5, 0x20)),
    compression,
  ],
  ["a frame beyond the setting", () => Buffer.from("00400100000000000100", "hex"), size],
  ["a window beyond its maximum", () => frame(WINDOW_UPDATE, 0, 0, uint32(0x7fff_ffff)), flow],
  [
    "windows beyond their maximum by a setting",
    () =>
      Buffer.concat([
        request(1),
        frame(WINDOW_UPDATE, 0, 1, uint32(0x7fff_ffff - limits.http2WindowBytes)),
        frame(FRAME.SETTINGS, 0, 0, setting(SETTING.INITIAL_WINDOW_SIZE, 0x7fff_ffff)),
      ]),
    flow,
  ],
];

describe("the connection of a client ends with its reason, and others are served meanwhile", () => {
  test.for(ATTACKS)("%s", async ([, bytes, code]) => {
    const address = await serve();
    const attacker = open(address);
    const other = open(address);
    attacker.send(bytes());
    other.send(call(1));
    await other.answered(1);
    expect(await attacker.closed()).toBe(code);
    other.send(call(3));
    await other.answered(3);
  });
});

test("a client that cancels as many calls as it lets end is served", async () => {
  const client = open(await serve());
  const pairs = RESETS;
  for (let at = 0; at < pairs; at++) {
    const [cancelled, kept] = [idOf(2 * at), idOf(2 * at + 1)];
    client.send(request(cancelled), frame(RST_STREAM, 0, cancelled, CANCEL), call(kept));
    if (at % 100 === 99) await client.answered(kept);
  }
  await client.answered(idOf(2 * pairs - 1));
  expect(client.goaway).toBeUndefined();
});

test("many frames of one connection are handled in several turns", async () => {
  const client = open(await serve());
  const pings = 3_000;
  client.send(many(pings, () => frame(PING, 0, 0, Buffer.alloc(8))));
  const heard: number[] = [];
  while (client.of(PING).length < pings) {
    await nextTurn();
    heard.push(client.of(PING).length);
  }
  const steps = heard.map((count, at) => count - (heard[at - 1] ?? 0));
  // Two turns of the server may lie between two turns of this loop.
  expect(Math.max(...steps)).toBeLessThanOrEqual(2 * limits.http2WorkPerTurnMax);
});

test("a client that sends no preface, or no settings, is closed", async () => {
  const address = await serve();
  for (const bytes of [
    Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
    Buffer.concat([START.subarray(0, 24), frame(PING, 0, 0, Buffer.alloc(8))]),
  ]) {
    const client = RawClient.to(address);
    closers.push(() => void client.socket.destroy());
    client.send(bytes);
    expect(await client.closed()).toBe(HTTP2.PROTOCOL_ERROR);
  }
});

test("each frame of bytes allows frames that carry none: clients answer bytes with window updates and pings", async () => {
  const client = open(await serve());
  const bytes = Buffer.concat([
    frame(DATA, 0, 1, Buffer.alloc(1)),
    frame(WINDOW_UPDATE, 0, 0, uint32(1)),
    frame(PING, 0, 0, Buffer.alloc(8)),
  ]);
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  client.send(
    request(1, { ":path": path }),
    many(FLOOD, () => bytes),
    call(3),
  );
  await client.answered(3);
  expect(client.goaway).toBeUndefined();
});

test("answers that a client does not read stay within their memory, and others are served", async () => {
  const memory = { ...createCallMemory(), answers: new AnswerBytes({ perConnectionMax: 4 * MIB }) };
  const getJob = async () => aJob({ reason: "x".repeat(100_000) });
  const services = [busbarService(createFakeOperations({ getJob }), silentLogger)];
  const address = await serve(services, memory);
  const [host = "", port = ""] = address.split(":");
  const silent = new RawClient(connect(Number(port), host));
  closers.push(() => void silent.socket.destroy());
  const wide = frame(FRAME.SETTINGS, 0, 0, setting(SETTING.INITIAL_WINDOW_SIZE, 0x7fff_ffff));
  silent.send(START, wide, frame(WINDOW_UPDATE, 0, 0, uint32(0x7000_0000)));
  const headers = { ":path": pathOf(Busbar.method.getJob) };
  const held: number[] = [];
  for (let at = 0; at < 900; at++) {
    silent.send(call(idOf(at), headers));
    if (at % 30 === 0) await nextTurn();
    held.push(memory.answers.counts.bytes);
  }
  await eventually(() => memory.answers.counts.dropped > 0, { what: "answers to be dropped" });
  expect(Math.max(...held, memory.answers.counts.bytes)).toBeLessThanOrEqual(4 * MIB);
  const other = open(address);
  other.send(call(1));
  await other.answered(1);
});

test("headers with more fields than allowed are refused, and the connection continues", async () => {
  const client = open(await serve());
  const fields = Array.from(
    { length: limits.http2HeaderFieldsMax },
    (_, at) => [`x-${at}`, ""] as const,
  );
  client.send(
    frame(
      HEADERS,
      FLAG.END_HEADERS | FLAG.END_STREAM,
      1,
      block([[":method", "POST"], [":path", "/"], [":scheme", "http"], ...fields]),
    ),
    call(3),
  );
  await client.answered(3);
  expect(client.resetOf(1)).toBe(HTTP2.PROTOCOL_ERROR);
});

test("calls beyond their deadline count as open while their handlers work", async () => {
  const gate = Promise.withResolvers<never>();
  closers.push(() => gate.reject(new Error("the test is over")));
  let begun = 0;
  const getJob = (): Promise<never> => {
    begun++;
    return gate.promise;
  };
  const client = open(await serve([busbarService(createFakeOperations({ getJob }), silentLogger)]));
  const max = limits.grpcStreamsPerConnectionMax;
  const headers = { ":path": pathOf(Busbar.method.getJob), "grpc-timeout": "300m" };
  for (let at = 0; at < max; at++) {
    client.send(call(idOf(at), headers));
    if (at % 100 === 99) await client.answered(idOf(at));
  }
  await client.answered(idOf(max - 1));
  expect(begun).toBe(max);
  client.send(call(idOf(max), headers));
  await eventually(() => client.resetOf(idOf(max)) !== undefined, { what: "a refusal" });
  expect([client.resetOf(idOf(max)), begun]).toEqual([HTTP2.REFUSED_STREAM, max]);
});
