import { invalid } from "./errors.ts";

/** An address to listen on or to connect to: a host name or IP address and a port. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The default ports of REST and gRPC. */
export const REST_PORT = 7070;
export const GRPC_PORT = 7071;
/** The server that clients connect to by default. */
export const SERVER_DEFAULT = `127.0.0.1:${GRPC_PORT}`;

/** Reads "127.0.0.1:7071", "name:7071" or "[::1]:7071". Port 0 means any free one. */
export function parseAddress(text: string, field: string): Address {
  const example = "write it like 127.0.0.1:7071 or [::1]:7071";
  if (text.includes("://")) throw invalid(field, `"${text}" is a URL; ${example}`);
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text);
  if (match === null) throw invalid(field, `"${text}" is not an address with a port; ${example}`);
  const port = Number(match[3]);
  if (port > 65_535) throw invalid(field, `port ${port} is larger than 65535; ${example}`);
  return { host: match[1] ?? match[2] ?? "", port };
}

export const formatAddress = ({ host, port }: Address): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** The address to connect to from this machine when a server listens on `listening`. */
export function dialAddress(listening: Address): Address {
  if (listening.host === "0.0.0.0") return { host: "127.0.0.1", port: listening.port };
  return listening.host === "::" ? { host: "::1", port: listening.port } : listening;
}

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
