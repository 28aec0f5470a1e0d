import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { encodeFrame, firstFrame, FLAG, FRAME, type Frame } from "../../../../lib/http2/frames.ts";
import { encodeLiterals } from "../../../../lib/http2/literal-fields.ts";
import { eventually } from "../../../../testing/eventually.ts";

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const EMPTY = Buffer.alloc(0);

export const frame = (
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = EMPTY,
): Buffer => encodeFrame({ type, flags, streamId, payload });

export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
}

export function setting(name: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(name);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

export const SETTINGS = frame(FRAME.SETTINGS, 0, 0);
export const START = Buffer.concat([PREFACE, SETTINGS]);

const CALL = {
  ":method": "POST",
  ":scheme": "http",
  ":path": "/grpc.health.v1.Health/Check",
  "content-type": "application/grpc",
  te: "trailers",
};

/** A header block without tables; a list may repeat names. */
export const block = (
  fields: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
): Buffer =>
  encodeLiterals(
    (Array.isArray(fields) ? fields : Object.entries(fields)).map(([name, value]) => ({
      name: String(name),
      value: String(value),
      isSensitive: false,
    })),
  );

/** The headers of a health check. */
export const request = (streamId: number, changes: Readonly<Record<string, string>> = {}): Buffer =>
  frame(FRAME.HEADERS, FLAG.END_HEADERS, streamId, block({ ...CALL, ...changes }));

/** An empty message, and the end of the request. */
export const lastMessage = (streamId: number): Buffer =>
  frame(FRAME.DATA, FLAG.END_STREAM, streamId, Buffer.alloc(5));

export const call = (streamId: number, changes: Readonly<Record<string, string>> = {}): Buffer =>
  Buffer.concat([request(streamId, changes), lastMessage(streamId)]);

/** Sends any bytes, and records the frames of the server. */
export class RawClient {
  readonly frames: Frame[] = [];
  readonly socket: Duplex;
  isClosed = false;
  #rest: Buffer = EMPTY;

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("close", () => (this.isClosed = true));
    socket.on("end", () => (this.isClosed = true));
  }

  static to(address: string): RawClient {
    const [host = "", port = ""] = address.split(":");
    return new RawClient(connect(Number(port), host)).read();
  }

  /** Without it, it reads nothing. */
  read(): this {
    this.socket.on("data", (chunk: Buffer) => this.#hear(chunk));
    return this;
  }

  send(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  of(type: number, streamId?: number): readonly Frame[] {
    return this.frames.filter(
      (each) => each.type === type && (streamId === undefined || each.streamId === streamId),
    );
  }

  /** The reason of GOAWAY. */
  get goaway(): number | undefined {
    return this.of(FRAME.GOAWAY).at(-1)?.payload.readUInt32BE(4);
  }

  resetOf(streamId: number): number | undefined {
    return this.of(FRAME.RST_STREAM, streamId)[0]?.payload.readUInt32BE(0);
  }

  isAnswered(streamId: number): boolean {
    return this.of(FRAME.HEADERS, streamId).some(({ flags }) => (flags & FLAG.END_STREAM) !== 0);
  }

  /** The bytes of an answer so far. */
  bytesOf(streamId: number): number {
    return this.of(FRAME.DATA, streamId).reduce((sum, { payload }) => sum + payload.length, 0);
  }

  async closed(): Promise<number | undefined> {
    await eventually(() => this.isClosed, { what: "the server to close", timeoutMs: 20_000 });
    return this.goaway;
  }

  async answered(streamId: number): Promise<void> {
    const what = (): string =>
      `the answer of stream ${streamId} among ${this.frames.length} frames`;
    await eventually(() => this.isAnswered(streamId), { what, timeoutMs: 20_000 });
  }

  #hear(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (let each = firstFrame(this.#rest); each !== undefined; each = firstFrame(this.#rest)) {
      this.frames.push({ ...each, payload: Buffer.from(each.payload) });
      this.#rest = this.#rest.subarray(9 + each.payload.length);
    }
  }
}
