import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { limits } from "../../../limits.ts";
import { userPartToBasic } from "./basic-authorization.ts";
import { FrameRewriter } from "./frame-rewriter.ts";

/**
 * A connection whose requests may have a user part in `:authority`. Node's HTTP/2 resets such a request before any handler can read it, so
 * this converts the user part to Basic authentication. Bytes of the server pass unchanged.
 */
export function withUserParts(socket: Socket): Duplex {
  const rewriter = new FrameRewriter({
    tableBytes: limits.http2HeaderTableBytes,
    listBytes: limits.userPartHeaderBytesMax,
    rewrite: userPartToBasic,
  });
  let isEnded = false;
  let isEndTold = false;
  let isYielding = false;
  /** A few bytes may expand to many: other work has its turn in between, and nothing more is read before. */
  const pump = (): void => {
    if (duplex.destroyed || isYielding || isEndTold) return;
    let bytes = 0;
    for (let out = rewriter.pull(); out !== undefined; out = rewriter.pull()) {
      bytes += out.length;
      const hasRoom = duplex.push(out);
      if (!hasRoom) return;
      if (bytes < limits.userPartBytesPerTurnMax) continue;
      isYielding = true;
      setImmediate(() => {
        isYielding = false;
        pump();
      });
      return;
    }
    if (!isEnded) return void socket.resume();
    isEndTold = true;
    duplex.push(null);
  };
  const duplex = new Duplex({
    read: pump,
    write: (chunk: Buffer, _, done) => void socket.write(chunk, done),
    writev(chunks, done) {
      socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done);
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    socket.pause();
    rewriter.push(chunk);
    pump();
  });
  socket.once("end", () => {
    isEnded = true;
    pump();
  });
  socket.once("error", (error) => duplex.destroy(error));
  socket.once("close", () => duplex.destroy());
  return duplex;
}
