import {
  createServer as createHttp2,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { type AddressInfo, connect, createServer as createTcp, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { frameMessage } from "../../../lib/grpc/frames.ts";
import { GRPC } from "../../../lib/grpc/status-codes.ts";
import { encodeFrame, FLAG, FRAME } from "../../../lib/http2/frames.ts";
import { encodeLiterals } from "../../../lib/http2/literal-fields.ts";
import { eventually } from "../../../testing/eventually.ts";
import type { CallError } from "../call-error.ts";
import type { OpenCall } from "../open-call.ts";
import { LeanChannel } from "./lean-channel.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

const MIB = 2 ** 20;
const EMPTY = Buffer.alloc(0);

interface Result {
  readonly messages: Buffer[];
  error: CallError | undefined;
  isOver: boolean;
}

function channelTo(port: number): LeanChannel {
  const channel = new LeanChannel({ host: "127.0.0.1", port });
  closers.push(() => channel.close());
  return channel;
}

function start(channel: LeanChannel, isPausing = false) {
  const result: Result = { messages: [], error: undefined, isOver: false };
  const call: OpenCall = channel.call(
    { path: "/s/m", bytesMax: 64 * MIB },
    {
      onMessage: (bytes) => {
        result.messages.push(Buffer.from(bytes));
        if (isPausing && result.messages.length === 1) call.pause();
      },
      onEnd: (error) => Object.assign(result, { error, isOver: true }),
    },
  );
  return { call, result };
}

async function ask(channel: LeanChannel, question: Buffer): Promise<Result> {
  const { call, result } = start(channel);
  call.send(question);
  call.finish();
  await eventually(() => result.isOver, { what: "the end of the call" });
  return result;
}

const listening = async (server: { listen(p: number, h: string, f: () => void): unknown }) =>
  new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));

/** Sends every request back, as Node's own HTTP/2 understood it. */
async function startEcho(): Promise<{ port: number; sessions: ServerHttp2Session[] }> {
  const sessions: ServerHttp2Session[] = [];
  const server = createHttp2({ settings: { initialWindowSize: 20_000 } });
  server.on("session", (session) => {
    sessions.push(session);
    closers.push(() => session.destroy());
  });
  server.on("stream", (opened) => {
    const stream = opened as ServerHttp2Stream;
    const parts: Buffer[] = [];
    stream.on("error", () => undefined);
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => {
      if (stream.destroyed) return; // cancelled
      stream.respond(
        { ":status": 200, "content-type": "application/grpc" },
        { waitForTrailers: true },
      );
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.concat(parts));
    });
  });
  await listening(server);
  closers.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, sessions };
}

test("questions and answers larger than every window pass, one after the other, on one connection", async () => {
  const { port, sessions } = await startEcho();
  const channel = channelTo(port);
  for (const bytes of [0, 1, 16_384, 65_536, 5 * MIB]) {
    const question = Buffer.alloc(bytes, "busbar");
    const { messages, error } = await ask(channel, question);
    expect(error).toBeUndefined();
    expect(messages.map((message) => message.equals(question))).toEqual([true]);
  }
  expect(sessions).toHaveLength(1);
});

test("calls at once have connections of their own, and a cancelled one leaves none behind", async () => {
  const { port, sessions } = await startEcho();
  const channel = channelTo(port);
  const open = start(channel);
  open.call.send(Buffer.from("never finished"));
  expect((await ask(channel, Buffer.from("beside"))).messages.join()).toBe("beside");
  expect(sessions).toHaveLength(2);
  open.call.cancel();
  await eventually(() => open.result.isOver, { what: "the cancelled call is over" });
  expect(open.result.error?.code).toBe(GRPC.CANCELLED);
  await eventually(() => sessions.filter(({ destroyed }) => destroyed).length === 1, {
    what: "the server sees its connection end",
  });
});

test("a server that pings gets its answers, while a call waits and before the next", async () => {
  const { port, sessions } = await startEcho();
  const channel = channelTo(port);
  await ask(channel, Buffer.from("first"));
  let answered = 0;
  sessions[0]?.ping(() => (answered += 1));
  await eventually(() => answered === 1, { what: "an answer to the ping" });
  expect((await ask(channel, Buffer.from("second"))).messages.join()).toBe("second");
});

test("after a goodbye of the server the next call has a new connection", async () => {
  const { port, sessions } = await startEcho();
  const channel = channelTo(port);
  await ask(channel, Buffer.from("first"));
  sessions[0]?.close();
  await eventually(() => sessions[0]?.destroyed === true, { what: "it has gone" });
  expect((await ask(channel, Buffer.from("second"))).messages.join()).toBe("second");
  expect(sessions).toHaveLength(2);
});

/** A server that says exactly these bytes when a request has come, in pieces of this size. */
async function startScript(answer: Buffer, pieceBytes: number): Promise<number> {
  const server = createTcp((socket: Socket) => {
    closers.push(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.once("data", () => {
      void (async () => {
        for (let at = 0; at < answer.length; at += pieceBytes) {
          socket.write(answer.subarray(at, at + pieceBytes));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
    });
  });
  await listening(server);
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

const frame = (type: number, flags: number, streamId: number, payload: Buffer): Buffer =>
  encodeFrame({ type, flags, streamId, payload });
const headers = (fields: Readonly<Record<string, string>>): Buffer =>
  encodeLiterals(
    Object.entries(fields).map(([name, value]) => ({ name, value, isSensitive: false })),
  );
const padded = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.of(3), content, Buffer.from("pad")]);

const SETTINGS = frame(FRAME.SETTINGS, 0, 0, EMPTY);
const OK = headers({ ":status": "200", "content-type": "application/grpc" });
const DONE = frame(
  FRAME.HEADERS,
  FLAG.END_HEADERS | FLAG.END_STREAM,
  1,
  headers({ "grpc-status": "0" }),
);
const DATA = frame(FRAME.DATA, 0, 1, frameMessage(Buffer.from("hello")));

/** Everything that RFC 9113 allows, and Node's server does not send. */
const UNUSUAL = Buffer.concat([
  SETTINGS,
  frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, headers({ ":status": "103" })),
  frame(0x7f, 0xff, 9, Buffer.from("of an extension")),
  frame(
    FRAME.HEADERS,
    FLAG.PADDED | FLAG.PRIORITY,
    1,
    padded(Buffer.concat([Buffer.alloc(5), OK.subarray(0, 4)])),
  ),
  frame(FRAME.CONTINUATION, 0, 1, OK.subarray(4, 9)),
  frame(FRAME.CONTINUATION, FLAG.END_HEADERS, 1, OK.subarray(9)),
  frame(FRAME.DATA, FLAG.PADDED, 1, padded(frameMessage(Buffer.from("hello")))),
  frame(FRAME.DATA, 0, 3, Buffer.from("of no stream")),
  DONE,
]);

test.each([1, 7, 10_000])("unusual frames are read, in pieces of %i bytes", async (pieceBytes) => {
  const { messages, error } = await ask(
    channelTo(await startScript(UNUSUAL, pieceBytes)),
    Buffer.from("?"),
  );
  expect([messages.join(), error]).toEqual(["hello", undefined]);
});

const breaches: readonly [name: string, bytes: readonly Buffer[], words: string][] = [
  ["a frame that is too large", [Buffer.of(1, 0, 0, 0, 0, 0, 0, 0, 1)], "a frame of 65536 bytes"],
  ["padding beyond the frame", [frame(FRAME.DATA, FLAG.PADDED, 1, Buffer.of(9, 1))], "padding"],
  ["headers that go on elsewhere", [frame(FRAME.HEADERS, 0, 1, OK), DATA], "headers are cut off"],
  ["an end of headers that never began", [frame(FRAME.CONTINUATION, 4, 1, OK)], "cut off"],
  ["headers of no table", [frame(FRAME.HEADERS, 4, 1, Buffer.of(0xff))], "cannot be read"],
  ["a push", [frame(FRAME.PUSH_PROMISE, 4, 1, EMPTY)], "pushes"],
  [
    "headers without an end",
    Array.from({ length: 9 }, (_, at) =>
      frame(at === 0 ? FRAME.HEADERS : FRAME.CONTINUATION, 0, 1, Buffer.alloc(16_000)),
    ),
    "too large",
  ],
  ["a settings frame that is cut off", [frame(FRAME.WINDOW_UPDATE, 0, 0, EMPTY)], "cannot be read"],
  ["a goodbye before it looked", [frame(FRAME.GOAWAY, 0, 0, Buffer.alloc(8))], "is closing"],
];
test.each(breaches)("a server that breaks the protocol: %s", async (_, bytes, words) => {
  const port = await startScript(Buffer.concat([SETTINGS, ...bytes]), 10_000);
  const { error } = await ask(channelTo(port), Buffer.from("?"));
  expect(error?.code).toBe(GRPC.UNAVAILABLE);
  expect(error?.details).toContain(words);
});

test("distinguishes a server of another protocol from one that breaks HTTP/2", async () => {
  for (const bytes of ["HTTP/1.1 400 Bad Request\r\n\r\n", "S", "SSH-2.0-x\r\n"]) {
    const { error } = await ask(
      channelTo(await startScript(Buffer.from(bytes), 10_000)),
      Buffer.from("?"),
    );
    expect(error?.cause).toMatchObject({ code: "ERR_HTTP2_ERROR" });
  }
});

test("a reader that stops makes the server wait", async () => {
  const megabyte = frameMessage(Buffer.alloc(MIB));
  let written = 0;
  const server = createHttp2();
  server.on("session", (session) => closers.push(() => session.destroy()));
  server.on("stream", (opened) => {
    const stream = opened as ServerHttp2Stream;
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const more = (): void => {
      written += 1;
      if (written < 64) stream.write(megabyte, more);
    };
    more();
  });
  await listening(server);
  closers.push(() => server.close());
  const { call, result } = start(channelTo((server.address() as AddressInfo).port), true);
  await eventually(() => result.messages.length > 0, { what: "a first message" });
  let before = -1;
  await eventually(
    () => {
      const isStill = before === written;
      before = written;
      return isStill;
    },
    { what: "the server stops" },
  );
  expect(written).toBeLessThan(60);
  call.resume();
  await eventually(() => result.messages.length >= 62, { what: "the rest" });
});

test("an idle connection does not keep the process", async () => {
  const { port } = await startEcho();
  await ask(channelTo(port), Buffer.from("?"));
  const refs = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap");
  const socket = connect(port, "127.0.0.1");
  closers.push(() => socket.destroy());
  await eventually(() => !socket.connecting, { what: "a connection that counts" });
  const more = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap");
  expect(more.length).toBeGreaterThan(refs.length);
});
