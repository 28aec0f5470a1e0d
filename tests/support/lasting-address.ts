import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const FIRST = 10_000;

/** The system gives ports from this one on to outgoing connections. */
function firstOutgoingPort(): number {
  try {
    const text = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8");
    return Math.max(Number.parseInt(text, 10), FIRST + 1_000);
  } catch {
    return 32_768;
  }
}

/**
 * An address that a server can have again after it was killed, with a free port next to it. A port that the system chose (port 0) may be
 * that of an outgoing connection of any program by then.
 */
export async function lastingAddress(): Promise<string> {
  const end = firstOutgoingPort();
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(FIRST, end - 1);
    if ((await isFree(port)) && (await isFree(port + 1))) return `127.0.0.1:${port}`;
  }
  throw new Error(`found no free port from ${FIRST} to ${end}`);
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
