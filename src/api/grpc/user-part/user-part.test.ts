import { type ClientHttp2Session, connect as connectHttp2, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../../testing/eventually.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { type Arrival, byAddress } from "../identify.ts";
import { createGrpcServer, type GrpcServer } from "../server.ts";
import { text } from "../../../lib/http2/testing/random-encoder.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Health checks, and their callers. */
async function serve(): Promise<{ server: GrpcServer; arrivals: Arrival[] }> {
  const arrivals: Arrival[] = [];
  const server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [],
    readsUserParts: true,
    identify: (arrival) => {
      arrivals.push(arrival);
      return byAddress(arrival);
    },
    logger: silentLogger,
    drainMs: 100,
  });
  closers.push(() => server.close());
  return { server, arrivals };
}

function open(server: GrpcServer): ClientHttp2Session {
  const session = connectHttp2(`http://${server.address}`);
  session.on("error", () => undefined);
  closers.push(() => session.destroy());
  return session;
}

const EMPTY_MESSAGE = Buffer.alloc(5);

/** The status of a health check with these headers, or of the stream if it was reset. */
const check = (session: ClientHttp2Session, headers: Record<string, string>): Promise<string> =>
  new Promise((resolve) => {
    const request = session.request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    request.on("trailers", (trailers) => resolve(`status ${String(trailers["grpc-status"])}`));
    request.on("error", () => undefined);
    request.on("close", () => resolve(`reset ${request.rstCode}`));
    request.resume();
    request.end(EMPTY_MESSAGE);
  });

test("a call with a user part is served, with Basic authentication and the address of its connection", async () => {
  const { server, arrivals } = await serve();
  const session = open(server);
  for (let call = 0; call < 3; call++) {
    expect(await check(session, { ":authority": "w:t@host:1" })).toBe("status 0");
  }
  expect(arrivals.length).toBe(3);
  for (const { address, headers } of arrivals) {
    expect(address).toBe("127.0.0.1");
    expect(headers[":authority"]).toBe("host:1");
    expect(headers.authorization).toBe(`Basic ${Buffer.from("w:t").toString("base64")}`);
  }
});

const CHARACTERS = "abcXYZ019 ~!#$%&'()*+,-./:;<=>?@[]^_`{|}";

test("headers of Node's own client, which has a table and Huffman codes, arrive as they were sent", async () => {
  const { server, arrivals } = await serve();
  const session = open(server);
  const unit = fc.constantFrom(...Array.from(CHARACTERS));
  const value = fc.string({ unit, maxLength: 60 }).map((inner) => `<${inner}>`);
  const name = fc.constantFrom("x-a", "x-b", "x-some-name", "grpc-trace", "x-long-".repeat(20));
  const lists = fc.array(fc.dictionary(name, value, { maxKeys: 5 }), {
    minLength: 1,
    maxLength: 6,
  });
  const property = fc.asyncProperty(lists, async (calls) => {
    for (const headers of calls) {
      expect(await check(session, headers)).toBe("status 0");
      const arrived = arrivals.pop()?.headers ?? {};
      for (const [key, sent] of Object.entries(headers)) {
        expect(arrived[key]).toBe(sent);
      }
      expect(arrived.authorization).toBeUndefined();
    }
  });
  await fc.assert(property, { numRuns: 40 });
});

/** The bytes that the server sends until it closes the connection. */
async function answerTo(server: GrpcServer, bytes: Buffer): Promise<Buffer> {
  const [host = "", port = ""] = server.address.split(":");
  const socket = connectTcp(Number(port), host);
  closers.push(() => void socket.destroy());
  const chunks: Buffer[] = [];
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.on("close", () => (isClosed = true));
  socket.write(bytes);
  await eventually(() => isClosed, { what: "the server to close the connection" });
  return Buffer.concat(chunks);
}

/** The reason of the last GOAWAY. */
function goawayOf(bytes: Buffer): number | undefined {
  let code: number | undefined;
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 7) code = bytes.readUInt32BE(at + 13);
  }
  return code;
}

const hex = (bytes: string): Buffer => Buffer.from(bytes.replaceAll(" ", ""), "hex");
const START = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  hex("000000 04 00 00000000"),
]);
const BOMB = Buffer.concat([
  Buffer.of(0x40),
  text("n", false),
  text("v".repeat(4_000), false),
  Buffer.alloc(200, 0xbe),
]);
const lengthOf = (block: Buffer): string => block.length.toString(16).padStart(6, "0");

describe("a protocol violation ends the connection with its reason", () => {
  const { NGHTTP2_PROTOCOL_ERROR: protocol, NGHTTP2_COMPRESSION_ERROR: compression } = constants;
  const { NGHTTP2_FRAME_SIZE_ERROR: size } = constants;
  test.for([
    ["headers that cannot be decoded", hex("000001 01 05 00000001 be"), compression],
    [
      "headers that stand for too much",
      Buffer.concat([hex(`${lengthOf(BOMB)} 01 05 00000001`), BOMB]),
      compression,
    ],
    [
      "headers without end",
      Buffer.concat([
        hex("000000 01 01 00000001"),
        ...Array.from({ length: 9 }, () =>
          Buffer.concat([hex("002000 09 00 00000001"), Buffer.alloc(8_192, 0x82)]),
        ),
      ]),
      compression,
    ],
    ["a frame that is too large", hex("004001 01 05 00000001"), size],
    ["padding that is longer than its frame", hex("000002 01 0d 00000001 0500"), protocol],
    ["another frame within headers", hex("000000 01 01 00000001 000000 04 00 00000000"), protocol],
    ["other headers within headers", hex("000000 01 01 00000001 000000 01 05 00000003"), protocol],
    [
      "the end of headers of another call",
      hex("000000 01 01 00000001 000000 09 04 00000003"),
      protocol,
    ],
    ["the end of headers that never began", hex("000000 09 04 00000001"), protocol],
  ] as const)("%s", async ([, bytes, code]) => {
    const { server } = await serve();
    expect(goawayOf(await answerTo(server, Buffer.concat([START, bytes])))).toBe(code);
    expect(await check(open(server), { ":authority": "w:t@h" })).toBe("status 0");
  });
});
