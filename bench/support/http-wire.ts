import { connect, type Socket } from "node:net";
import { parseAddress } from "../../src/lib/address.ts";

interface Waiting {
  readonly request: Buffer;
  readonly resolve: (status: number) => void;
  readonly reject: (error: Error) => void;
}

const HEAD_END = "\r\n\r\n";

/**
 * Persistent connections of HTTP/1.1, one request at a time on each, with just enough of the protocol to read a status and skip the body:
 * Node's own client takes more CPU than the measured server.
 */
export class HttpWire {
  readonly #idle: Socket[] = [];
  readonly #queue: Waiting[] = [];
  readonly #sockets: Socket[] = [];
  readonly #host: string;

  constructor(address: string, connections: number) {
    this.#host = address;
    for (let at = 0; at < connections; at++) this.#open(address);
  }

  /** Resolves with the status of the answer. */
  send(method: string, path: string, headers: string, body: string): Promise<number> {
    const length = Buffer.byteLength(body);
    const head = `${method} ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n${headers}Content-Length: ${length}`;
    const request = Buffer.from(`${head}${HEAD_END}${body}`);
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    const socket = this.#queue.length > 0 ? this.#idle.pop() : undefined;
    if (socket === undefined) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    this.#under.set(socket, waiting);
    socket.write(waiting.request);
  }

  readonly #under = new Map<Socket, Waiting>();

  #open(address: string): void {
    const socket = connect(parseAddress(address, "nexus"));
    socket.setNoDelay(true);
    this.#sockets.push(socket);
    let got = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      got += text;
      const end = got.indexOf(HEAD_END);
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(got)?.[1]);
      if (got.length < end + HEAD_END.length + length) return;
      const status = Number(got.slice(9, 12));
      got = "";
      this.#under.get(socket)?.resolve(status);
      this.#under.delete(socket);
      this.#idle.push(socket);
      this.#next();
    });
    socket.once("connect", () => {
      this.#idle.push(socket);
      this.#next();
    });
    socket.once("error", (error) => this.#under.get(socket)?.reject(error));
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
