import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { ConnectionPool } from "./connection-pool.ts";

/** Of this process, which all its ports share: file descriptors are limited for each process. */
export const processConnections = new ConnectionPool(descriptorsMax());

/** Closes new connections of this listener while others need the descriptors. Call it before it listens. */
export function limitConnections(listener: Server, pool = processConnections): void {
  listener.once("listening", () => {
    const port = pool.join();
    listener.on("connection", (socket: Socket) => {
      if (port.admit()) socket.once("close", () => port.closed());
      else socket.destroy();
    });
    listener.once("close", () => pool.leave(port));
  });
}

/** Node raises the soft limit to the hard one when it starts. */
function descriptorsMax(): number {
  try {
    const text = readFileSync("/proc/self/limits", "utf8");
    const soft = Number(/^Max open files\s+(\d+)/m.exec(text)?.[1]);
    return Number.isSafeInteger(soft) ? soft : Infinity;
  } catch {
    return Infinity; // a system without /proc: each port has a limit of its own
  }
}
