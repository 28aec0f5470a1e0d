import type { ServerHttp2Stream } from "node:http2";
import type { HeaderList } from "../header-list.ts";
import type { ServerConnection, RequestStream, RequestStreamEvents } from "../transport.ts";

const WITH_TRAILERS = { waitForTrailers: true } as const;
const ignore = (): void => undefined;

/** A stream of Node's HTTP/2. */
export class NodeStream implements RequestStream {
  readonly connection: ServerConnection;
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, connection: ServerConnection) {
    this.#stream = stream;
    this.connection = connection;
    stream.on("error", ignore); // "close" follows
  }

  get isOpen(): boolean {
    return !this.#stream.destroyed && !this.#stream.closed;
  }

  get hasResponded(): boolean {
    return this.#stream.headersSent;
  }

  get resetCode(): number {
    return this.#stream.rstCode ?? 0;
  }

  listen(events: RequestStreamEvents): void {
    const stream = this.#stream;
    stream.on("data", (chunk: Buffer) => events.onData(chunk));
    stream.on("end", () => events.onEnd());
    stream.on("drain", () => events.onDrain());
    stream.on("close", () => events.onClose());
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  respond(head: HeaderList): void {
    if (this.isOpen) this.#stream.respond(head.fields, WITH_TRAILERS);
  }

  respondOnly(head: HeaderList): void {
    if (this.isOpen) this.#stream.respond(head.fields, { endStream: true });
    this.#stream.resume(); // later data is ignored
  }

  write(bytes: Buffer, taken?: () => void): boolean {
    return this.#stream.write(bytes, taken);
  }

  writeAll(parts: readonly Buffer[], taken: () => void): void {
    const stream = this.#stream;
    stream.cork();
    for (const [at, part] of parts.entries()) {
      stream.write(part, at === parts.length - 1 ? taken : undefined);
    }
    stream.uncork();
  }

  end(trailers: HeaderList, last?: Buffer): void {
    const stream = this.#stream;
    stream.once("wantTrailers", () => stream.sendTrailers(trailers.fields));
    if (last === undefined) stream.end();
    else stream.end(last);
  }

  close(code: number): void {
    this.#stream.close(code);
  }

  /** Node does not report a reset that is so late. */
  confirm(received: (isReceived: boolean) => void): void {
    this.connection.ping(() => received(true));
  }
}
