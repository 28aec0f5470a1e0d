import { connect } from "node:net";
import { parseAddress } from "../../src/lib/address.ts";
import { SUBMIT, type Wire } from "./wire.ts";

// Just enough HTTP/2 to submit: the library for gRPC takes more CPU for a call than the server does, and a client on the server's machine
// must be cheap. The reader of the answers checks them.

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const FRAME_HEAD = 9;
const MESSAGE_HEAD = 5;
const WINDOW_MAX = 2 ** 31 - 1;
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, FRAME_HEAD);
  return bytes;
}

/** Literal fields that enter no table: every request has the same bytes. */
function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.from([value.length, ...Buffer.from(value)]);
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const headersFor = (server: string, path: string): Buffer =>
  headerBlock([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", server],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
  ]);

const framesOf = (stream: number, headers: Buffer, request: Buffer): Buffer =>
  Buffer.concat([
    frame(HEADERS, END_HEADERS, stream, headers),
    frame(
      DATA,
      END_STREAM,
      stream,
      Buffer.concat([Buffer.from([0]), uint32(request.length), request]),
    ),
  ]);

/** A request as it stands on the wire, but for its stream, which is 0. */
export const requestFrames = (server: string, path: string, request: Buffer): Buffer =>
  framesOf(0, headersFor(server, path), request);

interface Call {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly parts: Buffer[];
}

/** One connection that carries prepared requests, each at most one frame long. */
export interface Frames {
  call(path: string, request: Buffer): Promise<Buffer>;
  close(): void;
}

export function openFrameWire(server: string): Wire {
  const frames = openFrames(server);
  return { submit: (request) => frames.call(SUBMIT, request), close: () => frames.close() };
}

export function openFrames(server: string): Frames {
  const socket = connect(parseAddress(server, "server"));
  socket.setNoDelay(true);
  const blocks = new Map<string, Buffer>();
  const headersOf = (path: string): Buffer => {
    const known = blocks.get(path) ?? headersFor(server, path);
    blocks.set(path, known);
    return known;
  };
  // Windows that never close need no counting.
  const openWindow = Buffer.concat([Buffer.from([0, 4]), uint32(WINDOW_MAX)]);
  socket.write(PREFACE);
  socket.write(frame(SETTINGS, 0, 0, openWindow));
  socket.write(frame(WINDOW_UPDATE, 0, 0, uint32(WINDOW_MAX - 65_535)));

  const calls = new Map<number, Call>();
  let nextStream = 1;
  let unread = Buffer.alloc(0);

  const fail = (why: string): void => {
    for (const { reject } of calls.values()) reject(new Error(why));
    calls.clear();
  };
  const finish = (stream: number): void => {
    const call = calls.get(stream);
    calls.delete(stream);
    const message = Buffer.concat(call?.parts ?? []);
    if (message.length < MESSAGE_HEAD) call?.reject(new Error("a call was refused"));
    else call?.resolve(message.subarray(MESSAGE_HEAD));
  };
  const take = (type: number, flags: number, stream: number, payload: Buffer): void => {
    if (type === DATA) calls.get(stream)?.parts.push(Buffer.from(payload));
    else if (type === SETTINGS && (flags & ACK) === 0)
      socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && (flags & ACK) === 0) socket.write(frame(PING, ACK, 0, payload));
    else if (type === GOAWAY) fail("the server goes away");
    else if (type === RST_STREAM) calls.get(stream)?.reject(new Error("a call was reset"));
    if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) finish(stream);
  };
  socket.on("data", (data: Buffer) => {
    const bytes = unread.length === 0 ? data : Buffer.concat([unread, data]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD) {
      const end = at + FRAME_HEAD + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      const [type, flags, stream] = [
        bytes[at + 3] ?? 0,
        bytes[at + 4] ?? 0,
        bytes.readUInt32BE(at + 5),
      ];
      take(type, flags, stream, bytes.subarray(at + FRAME_HEAD, end));
      at = end;
    }
    unread = Buffer.from(bytes.subarray(at));
  });
  socket.on("error", (error) => fail(error.message));
  socket.on("close", () => fail("the connection was closed"));

  return {
    call: (path, request) =>
      new Promise((resolve, reject) => {
        const stream = nextStream;
        nextStream += 2;
        calls.set(stream, { resolve, reject, parts: [] });
        socket.write(framesOf(stream, headersOf(path), request));
      }),
    close: () => socket.destroy(),
  };
}
