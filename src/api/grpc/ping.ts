import type { ServerConnection } from "./http2/transport.ts";

/** Whether the other end of a connection answers a ping in time. `connection` is that of a call's context. */
export function answersPing(connection: object, timeoutMs: number): Promise<boolean> {
  const { ping } = connection as Partial<ServerConnection>;
  return new Promise((resolve) => {
    if (ping === undefined) return resolve(false);
    const late = setTimeout(() => resolve(false), timeoutMs).unref();
    ping.call(connection, (isThere) => {
      clearTimeout(late);
      resolve(isThere);
    });
  });
}
