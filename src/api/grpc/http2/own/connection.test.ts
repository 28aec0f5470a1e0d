import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { FLAG, FRAME, SETTING } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import { eventually } from "../../../../testing/eventually.ts";
import { settle } from "../../testing/settle.ts";
import { HEAD, openOwn, TRAILERS } from "../testing/own-server.ts";
import {
  block,
  call,
  frame,
  PREFACE,
  request,
  setting,
  START,
  uint32,
} from "../testing/raw-client.ts";

const { DATA, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE } = FRAME;
const { INITIAL_WINDOW_SIZE } = SETTING;
const FRAME_BYTES = 16_384;
const data = (streamId: number, bytes: number, flags = 0): Buffer =>
  frame(DATA, flags, streamId, Buffer.alloc(bytes, 1));
const window = (streamId: number, bytes: number): Buffer =>
  frame(WINDOW_UPDATE, 0, streamId, uint32(bytes));
const firstWindow = (bytes: number): Buffer =>
  frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, bytes));

describe("what a client sends", () => {
  test("a paused stream accepts its window, and no more until its bytes are read", async () => {
    const { client, served } = openOwn(({ stream }) => stream.pause());
    client.read().send(request(1), ...Array.from({ length: 3 }, () => data(1, FRAME_BYTES)));
    await settle();
    expect([served[0]?.bytes, client.of(WINDOW_UPDATE, 1)]).toEqual([0, []]);
    served[0]?.stream.resume();
    await settle();
    expect(served[0]?.bytes).toBe(3 * FRAME_BYTES);
    const granted = client.of(WINDOW_UPDATE, 1).map(({ payload }) => payload.readUInt32BE(0));
    expect(granted).toEqual([3 * FRAME_BYTES]);
  });

  test("bytes beyond the window of a paused stream reset it, and others continue", async () => {
    const { client, served } = openOwn(({ stream }) => stream.pause());
    client.read().send(request(1), ...Array.from({ length: 5 }, () => data(1, FRAME_BYTES)));
    client.send(request(3), data(3, 10));
    await settle();
    expect(client.resetOf(1)).toBe(HTTP2.FLOW_CONTROL_ERROR);
    expect(served[0]?.closes).toBe(1);
    served[1]?.stream.resume();
    await settle();
    expect(served[1]?.bytes).toBe(10);
  });

  test("a paused stream does not use up the window of its connection", async () => {
    const { client, served } = openOwn(({ stream }) => stream.pause());
    client.read();
    for (let id = 1; id < 200; id += 2) {
      client.send(request(id), ...Array.from({ length: 3 }, () => data(id, FRAME_BYTES)));
      await settle();
    }
    const granted = client.of(WINDOW_UPDATE, 0).map(({ payload }) => payload.readUInt32BE(0));
    const total = granted.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeGreaterThan(100 * 3 * FRAME_BYTES - limits.http2WindowBytes);
    expect(served).toHaveLength(100);
  });

  test("streams that are paused and full stop their connection, until one of them is read", async () => {
    const { client, served } = openOwn(({ stream }) => stream.pause());
    client.read();
    const full = Math.ceil(limits.http2UnreadBytesMax / (3 * FRAME_BYTES)) + 2;
    let left: number = limits.http2WindowBytes;
    const granted = (): number =>
      client
        .of(WINDOW_UPDATE, 0)
        .reduce<number>(
          (sum, { payload }) => sum + payload.readUInt32BE(0),
          limits.http2WindowBytes,
        );
    let sent = 0;
    for (let at = 0; at < full; at++) {
      const id = 2 * at + 1;
      client.send(request(id));
      for (let part = 0; part < 3 && granted() - sent >= FRAME_BYTES; part++) {
        client.send(data(id, FRAME_BYTES));
        sent += FRAME_BYTES;
        await new Promise((resolve) => setImmediate(resolve));
      }
      left = granted() - sent;
    }
    await settle();
    expect(left).toBeLessThan(limits.http2WindowBytes / 2);
    expect(sent).toBeLessThan(limits.http2UnreadBytesMax + 2 * limits.http2WindowBytes);
    for (const { stream } of served.slice(0, 10)) stream.resume();
    await settle();
    expect(granted() - sent).toBeGreaterThanOrEqual(limits.http2WindowBytes / 2);
  });

  test("a request ends after its bytes, also when it was paused", async () => {
    const { client, served } = openOwn(({ stream }) => stream.pause());
    client.read().send(request(1), data(1, 10), data(1, 5, FLAG.END_STREAM));
    await settle();
    expect([served[0]?.bytes, served[0]?.ends]).toEqual([0, 0]);
    served[0]?.stream.resume();
    await settle();
    expect([served[0]?.bytes, served[0]?.ends]).toEqual([15, 1]);
  });

  test.for([
    ["more bytes than announced", "4", data(1, 5, FLAG.END_STREAM)],
    ["fewer bytes than announced", "6", data(1, 5, FLAG.END_STREAM)],
    ["no bytes though announced", "6", frame(DATA, FLAG.END_STREAM, 1)],
    ["a length that is no number", "5, 5", data(1, 5, FLAG.END_STREAM)],
    ["headers as trailers without the end", "5", request(1)],
  ] as const)("%s reset the stream", async ([, length, last]) => {
    const { client } = openOwn();
    client.read().send(request(1, { "content-length": length }), last, call(3));
    await settle();
    expect(client.resetOf(1)).toBe(HTTP2.PROTOCOL_ERROR);
    expect(client.resetOf(3)).toBeUndefined();
  });
});

describe("what the server sends", () => {
  const PAGE = Buffer.alloc(100_000, 7);
  const answering = () =>
    openOwn(({ stream }) => {
      stream.respond(HEAD);
      stream.end(TRAILERS, PAGE);
    });

  test("a call's headers, message and trailers go in one write", async () => {
    const { client } = openOwn(({ stream }) => {
      stream.respond(HEAD);
      stream.end(TRAILERS, Buffer.from("answer"));
    });
    client.read();
    await settle();
    let chunks = 0;
    client.socket.on("data", () => chunks++);
    client.send(call(1), call(3));
    await client.answered(3);
    expect([client.bytesOf(1), client.bytesOf(3), chunks]).toEqual([6, 6, 1]);
  });

  test("nothing beyond the windows of a stream and of its connection", async () => {
    const { client } = answering();
    client.read().send(firstWindow(0), call(1), call(3));
    await settle();
    expect([client.of(HEADERS).length, client.bytesOf(1)]).toEqual([2, 0]);
    client.send(window(1, 10));
    await settle();
    expect([client.bytesOf(1), client.bytesOf(3)]).toEqual([10, 0]);
    client.send(firstWindow(200_000));
    await settle();
    expect(client.bytesOf(1) + client.bytesOf(3)).toBe(limits.http2WindowBytes);
    client.send(window(0, 1));
    await settle();
    expect(client.bytesOf(1) + client.bytesOf(3)).toBe(limits.http2WindowBytes + 1);
    client.send(window(0, 1_000_000));
    await client.answered(1);
    await client.answered(3);
    expect([client.bytesOf(1), client.bytesOf(3)]).toEqual([PAGE.length, PAGE.length]);
  });

  test("a smaller first window may make a window negative: it is filled up first", async () => {
    const { client } = answering();
    client.read().send(firstWindow(1_000), call(1));
    await settle();
    expect(client.bytesOf(1)).toBe(1_000);
    client.send(firstWindow(200), window(1, 700));
    await settle();
    expect(client.bytesOf(1)).toBe(1_000);
    client.send(window(1, 101));
    await settle();
    expect(client.bytesOf(1)).toBe(1_001);
  });

  test("streams have turns: a small answer does not wait for a large one", async () => {
    const { client } = openOwn(({ stream, headers }) => {
      stream.respond(HEAD);
      stream.end(TRAILERS, Buffer.alloc(Number(headers["x-bytes"])));
    });
    const calls = [call(1, { "x-bytes": "10000000" }), call(3, { "x-bytes": "10" })];
    client.read().send(firstWindow(100_000_000), window(0, 100_000_000), ...calls);
    await client.answered(1);
    const before = client.frames.findIndex(({ streamId, type }) => streamId === 3 && type === DATA);
    expect(before).toBeLessThan(10);
  });

  test("to a client that reads nothing it gives a bounded number of bytes, and reports when they are accepted", async () => {
    const taken: number[] = [];
    const page = Buffer.alloc(FRAME_BYTES);
    const { client, served } = openOwn(({ stream }) => stream.respond(HEAD));
    client.send(firstWindow(0x7fff_ffff), window(0, 0x7fff_0000), request(1));
    await settle();
    for (let at = 0; at < 100; at++) served[0]?.stream.write(page, () => taken.push(at));
    await settle();
    expect(taken.length * FRAME_BYTES).toBeLessThanOrEqual(2 * limits.http2WriteBytesMax);
    expect(served[0]?.drains).toBe(0);
    client.read();
    await eventually(() => taken.length === 100, { what: "all to be accepted" });
    expect([client.bytesOf(1), served[0]?.drains]).toEqual([100 * FRAME_BYTES, 1]);
  });

  test("a reset drops unsent bytes, and each of them is reported once", async () => {
    let taken = 0;
    const { client, served } = openOwn(({ stream }) => stream.respond(HEAD));
    client.send(firstWindow(20_000), request(1));
    await settle();
    for (let at = 0; at < 10; at++) served[0]?.stream.write(Buffer.alloc(9_000), () => taken++);
    await settle();
    client.read().send(frame(RST_STREAM, 0, 1, uint32(HTTP2.CANCEL)));
    await settle();
    expect([taken, served[0]?.closes, served[0]?.stream.resetCode]).toEqual([10, 1, HTTP2.CANCEL]);
    served[0]?.stream.write(Buffer.alloc(1), () => taken++);
    expect([taken, client.bytesOf(1)]).toEqual([11, 20_000]);
  });

  test("headers that do not fit a frame continue in others", async () => {
    const long = HEAD.with({ "x-long": "v".repeat(40_000) });
    const { client } = openOwn(({ stream }) => stream.respondOnly(long));
    client.read().send(call(1));
    await client.answered(1);
    const sizes = client.frames
      .filter(({ type }) => type === HEADERS || type === FRAME.CONTINUATION)
      .map(({ payload, flags }) => [payload.length, flags & FLAG.END_HEADERS]);
    expect(sizes.slice(0, 2)).toEqual([
      [FRAME_BYTES, 0],
      [FRAME_BYTES, 0],
    ]);
    expect(sizes).toHaveLength(3);
    expect(sizes[2]?.[1]).toBe(FLAG.END_HEADERS);
  });

  test("a client that reads no answers to its pings is closed before these use memory", async () => {
    const { client, isOver } = openOwn();
    for (let at = 0; at < limits.http2ControlFramesMax && !isOver(); at++) {
      client.send(frame(PING, 0, 0, Buffer.alloc(8)));
      if (at % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await settle();
    expect(isOver()).toBe(true);
    client.read();
    expect(await client.closed()).toBe(HTTP2.ENHANCE_YOUR_CALM);
    const answers = client.of(PING).length;
    expect(answers).toBeLessThan(limits.http2ControlFramesMax);
  });
});

describe("the end of a connection", () => {
  test("calls under way finish, later ones are refused unread, and then the socket ends", async () => {
    const { client, connection, served } = openOwn();
    client.read().send(request(1), request(3));
    await settle();
    connection.close();
    await settle();
    const goaway = client.of(FRAME.GOAWAY)[0]?.payload;
    expect([goaway?.readUInt32BE(0), goaway?.readUInt32BE(4)]).toEqual([3, HTTP2.NO_ERROR]);
    client.send(call(5));
    await settle();
    expect([client.resetOf(5), served.length]).toEqual([HTTP2.REFUSED_STREAM, 2]);
    for (const { stream } of served) {
      stream.respond(HEAD);
      stream.end(TRAILERS);
    }
    client.send(data(1, 1, FLAG.END_STREAM));
    await settle();
    expect(client.isClosed).toBe(false);
    client.send(data(3, 1, FLAG.END_STREAM));
    expect(await client.closed()).toBe(HTTP2.NO_ERROR);
    expect(served.map(({ closes }) => closes)).toEqual([1, 1]);
  });

  test("an idle connection ends at once", async () => {
    const { client, connection, isOver } = openOwn();
    client.read();
    await settle();
    connection.close();
    expect(await client.closed()).toBe(HTTP2.NO_ERROR);
    await eventually(isOver, { what: "the connection to be over" });
  });

  test("a lost connection closes its streams, and pings are unanswered", async () => {
    const { client, connection, served, isOver } = openOwn();
    const answers: boolean[] = [];
    client.read().send(request(1));
    await settle();
    connection.ping((isThere) => answers.push(isThere));
    client.socket.destroy();
    await settle();
    expect([served[0]?.closes, served[0]?.stream.isOpen, isOver()]).toEqual([1, false, true]);
    connection.ping((isThere) => answers.push(isThere));
    expect(answers).toEqual([false, false]);
  });

  test("a ping is answered by its own answer only", async () => {
    const { client, connection } = openOwn();
    const answers: boolean[] = [];
    client.read();
    await settle();
    connection.ping((isThere) => answers.push(isThere));
    await settle();
    client.send(frame(PING, FLAG.ACK, 0, Buffer.alloc(8)));
    await settle();
    expect(answers).toEqual([]);
    client.send(frame(PING, FLAG.ACK, 0, client.of(PING)[0]?.payload));
    await settle();
    expect(answers).toEqual([true]);
  });

  test("calls that are still answered after their reset count as open", async () => {
    const { client, connection } = openOwn();
    client.read();
    const max = limits.grpcStreamsPerConnectionMax;
    const done = Array.from({ length: max }, () => connection.abandon());
    client.send(request(1));
    await settle();
    expect(client.resetOf(1)).toBe(HTTP2.REFUSED_STREAM);
    for (const each of done) each();
    client.send(request(3));
    await settle();
    expect(client.resetOf(3)).toBeUndefined();
  });
});

describe("a client that is late", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());
  const headers = block({ ":method": "POST" });

  test.for([
    ["sends nothing", Buffer.of(), limits.http2PrefaceMsMax],
    ["sends half a preface", PREFACE.subarray(0, 9), limits.http2PrefaceMsMax],
    ["sends no settings", PREFACE, limits.http2PrefaceMsMax],
    [
      "does not end its headers",
      Buffer.concat([START, frame(HEADERS, 0, 1, headers)]),
      limits.headersReceiveMsMax,
    ],
    [
      "does not close after its mistake",
      Buffer.concat([START, frame(DATA, 0, 1)]),
      limits.http2LingerMsMax,
    ],
  ] as const)("and %s is cut off", async ([, hello, afterMs]) => {
    const { client, connection } = openOwn(undefined, false, hello);
    await settle();
    vi.advanceTimersByTime(afterMs - 1);
    await settle();
    expect(connection.socket).toBeDefined();
    vi.advanceTimersByTime(1);
    await settle();
    expect(connection.socket).toBeUndefined();
    client.socket.destroy();
  });

  test("and has sent its settings in time may be silent for long", async () => {
    const { client, connection } = openOwn();
    await settle();
    vi.advanceTimersByTime(3_600_000);
    await settle();
    expect(connection.socket).toBeDefined();
    client.socket.destroy();
  });
});
