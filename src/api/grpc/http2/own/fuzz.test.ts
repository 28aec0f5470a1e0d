import { connect, type ClientHttp2Session } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import * as fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { FLAG, FRAME, SETTING } from "../../../../lib/http2/frames.ts";
import { eventually } from "../../../../testing/eventually.ts";
import { settle } from "../../testing/settle.ts";
import { HEAD, openOwn, ServedStream, TRAILERS } from "../testing/own-server.ts";
import { block, frame, request, setting, uint32 } from "../testing/raw-client.ts";
import { OwnConnection } from "./connection.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
});

/** Answers each request when it has ended, with as many bytes as it had. */
const echo = (served: ServedStream): void => {
  const { stream } = served;
  served.onEnd = () => {
    served.ends++;
    stream.respond(HEAD);
    stream.end(TRAILERS, Buffer.alloc(served.bytes));
  };
};

const streamId = fc.constantFrom(0, 1, 2, 3, 5, 7, 9, 11);
const payload = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const flags = fc.integer({ min: 0, max: 0x2f });

/** Frames that are mostly valid, in any order, and any bytes. */
const piece = fc.oneof(
  { weight: 4, arbitrary: streamId.map((id) => request(id)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(streamId, payload, fc.boolean())
      .map(([id, bytes, isLast]) => frame(FRAME.DATA, isLast ? FLAG.END_STREAM : 0, id, bytes)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(streamId, fc.constantFrom(0, 1, 5_000, 0x7fff_ffff))
      .map(([id, bytes]) => frame(FRAME.WINDOW_UPDATE, 0, id, uint32(bytes))),
  },
  streamId.map((id) => frame(FRAME.RST_STREAM, 0, id, uint32(8))),
  fc
    .constantFrom(0, 1, 100, 100_000)
    .map((bytes) => frame(FRAME.SETTINGS, 0, 0, setting(SETTING.INITIAL_WINDOW_SIZE, bytes))),
  streamId.map((id) => frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, id, block({}))),
  streamId.map((id) => frame(FRAME.HEADERS, 0, id, block({ ":method": "POST" }))),
  streamId.map((id) => frame(FRAME.CONTINUATION, FLAG.END_HEADERS, id, block({ ":path": "/" }))),
  fc
    .tuple(fc.integer({ min: 0, max: 12 }), flags, streamId, payload)
    .map(([type, flag, id, bytes]) => frame(type, flag, id, bytes)),
  payload,
);
const cuts = fc.array(fc.nat({ max: 2_000 }), { maxLength: 8 });

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length];
  ends.sort((a, b) => a - b);
  return ends.slice(1).map((end, at) => bytes.subarray(ends[at], end));
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("any frames, however they are cut, leave no stream behind", async () => {
  const property = fc.asyncProperty(
    fc.array(piece, { maxLength: 30 }),
    cuts,
    async (pieces, at) => {
      const { client, served, connection, isOver } = openOwn(echo);
      client.read();
      for (const each of cut(Buffer.concat(pieces), at)) {
        client.send(each);
        await turn();
      }
      await turn();
      client.socket.destroy();
      for (let turns = 0; turns < 20 && !isOver(); turns++) await turn();
      expect([isOver(), connection.streams.isEmpty]).toEqual([true, true]);
      expect(served.map(({ closes }) => closes)).toEqual(served.map(() => 1));
    },
  );
  await fc.assert(property, { numRuns: 400 });
});

test("a conversation that is cut at any byte has the same outcome", async () => {
  const talk = Buffer.concat([
    request(1, { "x-long": "v".repeat(40) }),
    frame(FRAME.DATA, 0, 1, Buffer.alloc(30)),
    request(3),
    frame(FRAME.PING, 0, 0, Buffer.alloc(8, 5)),
    frame(FRAME.DATA, FLAG.END_STREAM, 3, Buffer.alloc(3)),
    frame(FRAME.DATA, FLAG.END_STREAM | FLAG.PADDED, 1, Buffer.from([2, 7, 7, 7, 0, 0])),
  ]);
  const outcome = async (pieces: readonly Buffer[]) => {
    const { client, served } = openOwn(echo);
    client.read();
    for (const each of pieces) {
      client.send(each);
      await turn();
    }
    await client.answered(1);
    await client.answered(3);
    client.socket.destroy();
    const pings = client.of(FRAME.PING).length;
    return [served.map(({ bytes, closes }) => [bytes, closes]), client.bytesOf(1), pings];
  };
  const whole = await outcome([talk]);
  expect(whole).toEqual([
    [
      [33, 1],
      [3, 1],
    ],
    33,
    1,
  ]);
  for (let at = 1; at < talk.length; at++) {
    expect(await outcome([talk.subarray(0, at), talk.subarray(at)])).toEqual(whole);
  }
  expect(await outcome([...talk].map((byte) => Buffer.of(byte)))).toEqual(whole);
});

/** A server whose streams `onStream` serves, and Node's client of it. */
async function withNode(
  onStream: (served: ServedStream) => void,
): Promise<{ session: ClientHttp2Session; connections: OwnConnection[] }> {
  const connections: OwnConnection[] = [];
  const server = createServer((socket) => {
    const events = {
      onStream: (...each: ConstructorParameters<typeof ServedStream>) =>
        onStream(new ServedStream(...each)),
      onClose: () => undefined,
    };
    connections.push(new OwnConnection(socket, () => events, false));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  // Node's client counts unsent bytes of cancelled calls for good, and in the end resets other calls.
  const session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 10_000 });
  session.on("error", () => undefined);
  closers.push(
    () => void server.close(),
    () => session.destroy(),
  );
  return { session, connections };
}

interface Exchange {
  readonly sent: readonly number[];
  readonly headers: Readonly<Record<string, string>>;
  readonly isCancelled: boolean;
}

const exchange: fc.Arbitrary<Exchange> = fc.record({
  sent: fc.array(fc.constantFrom(0, 1, 100, 16_384, 70_000), { maxLength: 4 }),
  headers: fc.dictionary(
    fc.constantFrom("x-a", "x-b", "grpc-timeout"),
    fc.string({ unit: fc.constantFrom("a", "Z", "9", "%"), minLength: 1, maxLength: 30 }),
  ),
  isCancelled: fc.boolean(),
});

test("Node's client agrees: bytes both ways, headers and trailers of many calls at once", async () => {
  const arrived = new Map<string, ServedStream>();
  const { session, connections } = await withNode((served) => {
    arrived.set(String(served.headers["x-call"]), served);
    echo(served);
  });
  let calls = 0;
  const run = (each: Exchange) =>
    new Promise<readonly unknown[]>((resolve) => {
      const name = String(calls++);
      const total = each.sent.reduce((sum, bytes) => sum + bytes, 0);
      const stream = session.request({
        ":method": "POST",
        ":path": "/",
        ...each.headers,
        "x-call": name,
      });
      let [bytes, status, trailer] = [0, 0, ""];
      stream.on("response", (got) => (status = Number(got[":status"])));
      stream.on("trailers", (got) => (trailer = String(got["grpc-status"])));
      stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
      stream.on("error", () => undefined);
      stream.on("close", () => {
        if (each.isCancelled) return resolve(["cancelled"]);
        const { headers = {}, bytes: seen } = arrived.get(name) ?? {};
        const shown = Object.fromEntries(
          Object.keys(each.headers).map((key) => [key, headers[key]]),
        );
        resolve([seen === total, bytes === total, status, trailer, { ...each.headers }, shown]);
      });
      for (const size of each.sent) stream.write(Buffer.alloc(size));
      if (each.isCancelled) setImmediate(() => stream.close(8));
      else stream.end();
    });
  const property = fc.asyncProperty(fc.array(exchange, { maxLength: 12 }), async (exchanges) => {
    const outcomes = await Promise.all(exchanges.map(run));
    for (const [at, outcome] of outcomes.entries()) {
      if (exchanges[at]?.isCancelled === true) continue;
      const headers = exchanges[at]?.headers ?? {};
      expect(outcome).toEqual([true, true, 200, "0", { ...headers }, { ...headers }]);
    }
    await eventually(() => connections.every(({ streams }) => streams.isEmpty), {
      what: "all streams to be closed",
      timeoutMs: 10_000,
    });
  });
  await fc.assert(property, { numRuns: 60 });
  await settle();
});
