import { connect, createServer, type Server, type Socket } from "node:net";

/** Kinds of HTTP/2 frames that tests count. */
const PING = 6;
const GOAWAY = 7;
const ACK = 1;
const HEAD_BYTES = 9;

/** A relay between a client and a server that counts HTTP/2 frames besides those of calls. */
export class FrameCounter {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  connections = 0;
  bytesUp = 0;
  bytesDown = 0;
  /** The client's, as acknowledged by the server. */
  pingsAnswered = 0;
  /** The server's. */
  goAways = 0;

  private constructor(target: string) {
    const [host = "", port = ""] = target.split(":");
    this.#server = createServer((client) => {
      this.connections += 1;
      const server = connect({ host, port: Number(port) });
      for (const socket of [client, server]) {
        this.#sockets.add(socket.setNoDelay(true));
        socket.on("error", () => undefined); // its close follows
        socket.once("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
      const seen = frameReader((kind, flags) => {
        if (kind === PING && (flags & ACK) !== 0) this.pingsAnswered += 1;
        if (kind === GOAWAY) this.goAways += 1;
      });
      client.on("data", (bytes) => (this.bytesUp += bytes.length));
      server.on("data", (bytes: Buffer) => {
        this.bytesDown += bytes.length;
        seen(bytes);
      });
      client.pipe(server);
      server.pipe(client);
    });
  }

  static async start(target: string): Promise<FrameCounter> {
    const counter = new FrameCounter(target);
    await new Promise<void>((resolve) => counter.#server.listen(0, "127.0.0.1", resolve));
    return counter;
  }

  get address(): string {
    const at = this.#server.address();
    if (at === null || typeof at === "string") throw new Error("it does not listen");
    return `127.0.0.1:${at.port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Calls `onFrame` for each frame, however its bytes are cut. */
function frameReader(onFrame: (kind: number, flags: number) => void): (bytes: Buffer) => void {
  let skip = 0;
  let head = Buffer.alloc(0);
  return (bytes) => {
    let rest = bytes;
    while (rest.length > 0) {
      const skipped = Math.min(skip, rest.length);
      skip -= skipped;
      rest = rest.subarray(skipped);
      if (skip > 0 || rest.length === 0) return;
      const wanted = HEAD_BYTES - head.length;
      head = Buffer.concat([head, rest.subarray(0, wanted)]);
      rest = rest.subarray(wanted);
      if (head.length < HEAD_BYTES) return;
      onFrame(head[3] ?? 0, head[4] ?? 0);
      skip = head.readUIntBE(0, 3);
      head = Buffer.alloc(0);
    }
  };
}
