import type { IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { duplexPair } from "node:stream";
import { HeaderList } from "../header-list.ts";
import { OwnConnection } from "../own/connection.ts";
import type { RequestStream, RequestStreamEvents } from "../transport.ts";
import { RawClient, START } from "./raw-client.ts";

export const HEAD = new HeaderList({ ":status": 200 });
export const TRAILERS = new HeaderList({ "grpc-status": 0 });

/** A stream and all that happened on it. */
export class ServedStream implements RequestStreamEvents {
  readonly stream: RequestStream;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: Buffer[] = [];
  ends = 0;
  closes = 0;
  drains = 0;

  constructor(stream: RequestStream, headers: IncomingHttpHeaders) {
    this.stream = stream;
    this.headers = headers;
    stream.listen(this);
  }

  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }

  onData(bytes: Buffer): void {
    if (this.ends + this.closes > 0) throw new Error("bytes after the end");
    this.chunks.push(Buffer.from(bytes));
  }

  onEnd(): void {
    this.ends++;
  }

  onDrain(): void {
    this.drains++;
  }

  onClose(): void {
    this.closes++;
  }
}

export interface OwnServer {
  readonly client: RawClient;
  readonly connection: OwnConnection;
  /** In the order of their requests. */
  readonly served: readonly ServedStream[];
  readonly isOver: () => boolean;
}

/** One connection of our own HTTP/2 without sockets: no kernel buffers any bytes in between. `onStream` sees each stream first. */
export function openOwn(
  onStream: (served: ServedStream) => void = () => undefined,
  readsUserParts = false,
  hello: Buffer = START,
): OwnServer {
  const [near, far] = duplexPair();
  const served: ServedStream[] = [];
  let isOver = false;
  const events = {
    onStream(stream: RequestStream, headers: IncomingHttpHeaders): void {
      const each = new ServedStream(stream, headers);
      served.push(each);
      onStream(each);
    },
    onClose: () => void (isOver = true),
  };
  const connection = new OwnConnection(near as unknown as Socket, () => events, readsUserParts);
  const client = new RawClient(far);
  client.send(hello);
  return { client, connection, served, isOver: () => isOver };
}
