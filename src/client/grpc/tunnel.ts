import { type Duplex, duplexPair, pipeline } from "node:stream";
import { type Address, formatAddress } from "../../lib/address.ts";

/** A stream to a server, and the number of bytes received. */
export interface ServerStream {
  readonly stream: Duplex;
  readonly bytesRead: () => number;
}

/** A stream to `to` through an HTTP proxy (CONNECT). Bytes written before it is open wait. */
export function connectThrough(proxy: URL, to: Address): ServerStream {
  const [near, far] = duplexPair();
  let socket: { readonly bytesRead: number } | undefined;
  const { username, password } = proxy;
  const auth = username === "" ? undefined : `${decode(username)}:${decode(password)}`;
  // A static import would load all of node:http, and undici, for callers without a proxy too.
  const { request } = process.getBuiltinModule("node:http");
  const asked = request({
    host: proxy.hostname,
    port: proxy.port === "" ? 80 : proxy.port,
    method: "CONNECT",
    path: formatAddress(to),
    headers: {
      host: formatAddress(to),
      ...(auth !== undefined && {
        "proxy-authorization": `Basic ${Buffer.from(auth).toString("base64")}`,
      }),
    },
  });
  asked.on("connect", ({ statusCode }, opened, head) => {
    if (statusCode !== 200) {
      opened.destroy();
      near.destroy(new Error(`the proxy ${proxy.host} answered CONNECT with ${statusCode}`));
      return;
    }
    socket = opened;
    if (head.length > 0) far.write(head);
    pipeline(far, opened, far, (error) => near.destroy(error ?? undefined));
  });
  asked.on("error", (cause) =>
    near.destroy(new Error(`the proxy ${proxy.host} failed`, { cause })),
  );
  near.on("close", () => asked.destroy());
  asked.end();
  return { stream: near, bytesRead: () => socket?.bytesRead ?? 0 };
}

const decode = (part: string): string => decodeURIComponent(part);
