import { connect } from "node:net";
import { parseAddress } from "../lib/address.ts";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import { type BusbarClient, createClient } from "./client.ts";
import { busbarMethods } from "./methods.ts";

/** A client of the first of these addresses; after a call that reached no server, of the next one. */
export function createMovingClient(servers: readonly string[]): BusbarClient {
  const clients = servers.map((server) => createClient({ server }));
  let at = 0;
  const current = (): BusbarClient => clients[at] as BusbarClient;
  const moveOn = (error: unknown): never => {
    if (error instanceof AppError && error.code === "unavailable") at = (at + 1) % clients.length;
    throw error;
  };
  const calls: Record<string, unknown> = {};
  for (const [name, { kind }] of busbarMethods()) {
    calls[name] = (...given: readonly unknown[]): unknown => {
      const call = current()[name as keyof BusbarClient] as unknown as (
        ...all: unknown[]
      ) => unknown;
      const answer = call(...given);
      return kind === "unary" ? (answer as Promise<unknown>).catch(moveOn) : answer;
    };
  }
  const close = (): void => clients.forEach((client) => client.close());
  // The methods are those of the schema that the type is computed from.
  return { ...(calls as unknown as BusbarClient), server: servers.join(","), close };
}

/** The first of several addresses that accepts a connection. Throws `unavailable` when none does. */
export async function firstAnswering(servers: readonly string[]): Promise<string> {
  const reasons: string[] = [];
  for (const server of servers) {
    const reason = await tryOne(server);
    if (reason === undefined) return server;
    reasons.push(`${server} ${reason}`);
  }
  throw new AppError("unavailable", `no server answers: ${reasons.join("; ")}`);
}

/** Undefined: it accepts connections. */
function tryOne(server: string): Promise<string | undefined> {
  const { host, port } = parseAddress(server, "--server");
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (reason: string | undefined): void => {
      clearTimeout(late);
      socket.destroy();
      resolve(reason);
    };
    const late = setTimeout(() => end("does not answer"), limits.serverTryMs);
    socket.once("connect", () => end(undefined));
    socket.once("error", ({ message }) => end(`cannot be reached (${message})`));
  });
}
