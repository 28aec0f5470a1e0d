import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, createServer as createTcp, type Server } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { frameMessage } from "../../lib/grpc/frames.ts";
import { GRPC } from "../../lib/grpc/status-codes.ts";
import { eventually } from "../../testing/eventually.ts";
import type { CallError } from "./call-error.ts";
import { Channel } from "./channel.ts";
import { LeanChannel } from "./lean/lean-channel.ts";
import type { CallChannel } from "./open-call.ts";
import { connectThrough } from "./tunnel.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

async function listen(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** An HTTP/2 server; the test answers its streams by hand. */
async function serveStreams(onStream: (stream: ServerHttp2Stream) => void): Promise<number> {
  const server = createHttp2();
  server.on("session", (session) => closers.push(() => session.destroy()));
  server.on("stream", (opened) => {
    const stream = opened as ServerHttp2Stream;
    stream.on("error", () => undefined);
    onStream(stream);
  });
  return listen(server);
}

const OK = { ":status": 200, "content-type": "application/grpc" };

function answer(stream: ServerHttp2Stream, frames: Buffer, headers = {}): void {
  stream.respond({ ...OK, ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(frames);
}

interface Outcome {
  readonly messages: string[];
  readonly error: CallError | undefined;
}

const ask = (channel: CallChannel, options: { timeoutMs?: number; bytesMax?: number } = {}) =>
  new Promise<Outcome>((resolve) => {
    const messages: string[] = [];
    const start = { path: "/s/m", bytesMax: 1_000, ...options };
    const call = channel.call(start, {
      onMessage: (bytes) => messages.push(bytes.toString()),
      onEnd: (error) => resolve({ messages, error }),
    });
    call.send(Buffer.from("question"));
    call.finish();
  });

const failures: readonly [name: string, code: number, (stream: ServerHttp2Stream) => void][] = [
  ["HTTP status 503", GRPC.UNAVAILABLE, (stream) => stream.respond({ ":status": 503 })],
  ["no status at the end", GRPC.UNAVAILABLE, (stream) => (stream.respond(OK), stream.end())],
  ["a reset", GRPC.INTERNAL, (stream) => stream.close(2)],
  ["a reset because of load", GRPC.RESOURCE_EXHAUSTED, (stream) => stream.close(11)],
  ["a lost connection", GRPC.UNAVAILABLE, (stream) => stream.session?.destroy()],
  [
    "a message beyond the limit",
    GRPC.RESOURCE_EXHAUSTED,
    (stream) => answer(stream, frameMessage(Buffer.alloc(1_001))),
  ],
  [
    "a message that is not gzip",
    GRPC.INTERNAL,
    (stream) => answer(stream, frameMessage(Buffer.from("x"), true), { "grpc-encoding": "gzip" }),
  ],
];
describe.each([
  ["Node's HTTP/2", Channel],
  ["the lean one", LeanChannel],
])("%s", (_, Kind) => {
  function channelTo(port: number): CallChannel {
    const channel = new Kind({ host: "127.0.0.1", port });
    closers.push(() => channel.close());
    return channel;
  }

  test("messages arrive complete, compressed or not, however the network cuts them", async () => {
    const plain = frameMessage(Buffer.from("plain"));
    const packed = frameMessage(gzipSync("packed"), true);
    const port = await serveStreams((stream) => {
      stream.respond({ ...OK, "grpc-encoding": "gzip" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      for (const byte of Buffer.concat([plain, packed])) stream.write(Buffer.from([byte]));
      stream.end();
    });
    expect(await ask(channelTo(port))).toEqual({ messages: ["plain", "packed"], error: undefined });
  });

  test("a status without messages, and a percent-encoded message", async () => {
    const port = await serveStreams((stream) =>
      stream.respond(
        { ...OK, "grpc-status": "5", "grpc-message": "nicht%20da%3A%20%C3%A4", "busbar-code": "x" },
        { endStream: true },
      ),
    );
    const { error } = await ask(channelTo(port));
    expect([error?.code, error?.details]).toEqual([GRPC.NOT_FOUND, "nicht da: ä"]);
    expect(error?.metadata["busbar-code"]).toBe("x");
  });

  for (const [name, code, way] of failures) {
    test(`${name} is an error with a code, and the next call is served`, async () => {
      let isFirst = true;
      const port = await serveStreams((stream) => {
        if (isFirst) way(stream);
        else answer(stream, frameMessage(Buffer.from("fine")));
        isFirst = false;
      });
      const channel = channelTo(port);
      expect((await ask(channel)).error?.code).toBe(code);
      await eventually(async () => (await ask(channel)).messages[0] === "fine", {
        what: "an answer",
      });
    });
  }

  test("a call that a closing server refused unread is sent once more, and only once", async () => {
    const read: string[] = [];
    let refusals = 1;
    const port = await serveStreams((stream) => {
      stream.on("data", (part: Buffer) => read.push(part.subarray(5).toString()));
      const isFirst = stream.id === 1;
      if (isFirst || refusals === 0) return answer(stream, frameMessage(Buffer.from("fine")));
      refusals -= 1;
      stream.session?.goaway(0, 1);
      return undefined;
    });
    const channel = channelTo(port);
    const first = await ask(channel);
    const second = await ask(channel);
    expect([first, second].map(({ messages, error }) => [messages.join(), error])).toEqual([
      ["fine", undefined],
      ["fine", undefined],
    ]);
    const count = read.length;
    await ask(channel); // on the connection of the second call
    expect(read.length).toBe(count + 1);
    expect(read.every((text) => text === "question")).toBe(true);
  });

  test("a call that is refused again ends with an error", async () => {
    let tries = 0;
    const port = await serveStreams((stream) => {
      tries += 1;
      stream.close(7); // REFUSED_STREAM
    });
    expect((await ask(channelTo(port))).error?.code).toBe(GRPC.UNAVAILABLE);
    expect(tries).toBe(2);
  });

  test("a deadline is sent to the server, and ends the call here", async () => {
    let sent: string | undefined;
    const server = createHttp2();
    server.on("session", (session) => closers.push(() => session.destroy()));
    server.on("stream", (_, headers) => (sent = headers["grpc-timeout"]?.toString()));
    const { error } = await ask(channelTo(await listen(server)), { timeoutMs: 200 });
    expect(error?.code).toBe(GRPC.DEADLINE_EXCEEDED);
    expect(sent).toBe("200m");
  });

  test("no server, a server of another protocol, and a closed channel", async () => {
    expect((await ask(channelTo(1))).error?.code).toBe(GRPC.UNAVAILABLE);
    const port = await listen(createHttp((_, response) => response.end("hello")));
    const { error } = await ask(channelTo(port));
    expect(error?.code).toBe(GRPC.UNAVAILABLE);
    expect(error?.cause).toMatchObject({ code: "ERR_HTTP2_ERROR" });
    const closed = channelTo(port);
    closed.close();
    expect((await ask(closed)).error?.code).toBe(GRPC.CANCELLED);
  });

  test("closing the channel ends calls that are under way", async () => {
    const port = await serveStreams((stream) => stream.respond(OK));
    const channel = channelTo(port);
    const asked = ask(channel);
    setImmediate(() => channel.close());
    expect((await asked).error).toBeDefined();
  });
});

test("a proxy carries bytes both ways; the error about one that refuses names it", async () => {
  const far = await listen(createTcp((socket) => socket.pipe(socket)));
  const proxy = createHttp();
  proxy.on("connect", (request, socket) => {
    if (request.url !== `127.0.0.1:${far}`) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const onward = connect(far, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    });
    onward.on("error", () => socket.destroy());
    socket.on("error", () => onward.destroy());
    return undefined;
  });
  const url = new URL(`http://127.0.0.1:${await listen(proxy)}`);
  const { stream, bytesRead } = connectThrough(url, { host: "127.0.0.1", port: far });
  stream.write("over and back");
  const back = await new Promise<string>((resolve) =>
    stream.once("data", (d) => resolve(String(d))),
  );
  expect(back).toBe("over and back");
  expect(bytesRead()).toBeGreaterThan(0);
  stream.destroy();
  const refused = connectThrough(url, { host: "127.0.0.1", port: 1 }).stream;
  const error = await new Promise<Error>((resolve) => refused.once("error", resolve));
  expect(error.message).toContain(`the proxy ${url.host} answered CONNECT with 403`);
});
