import type { ServerHttp2Session } from "node:http2";

/**
 * Whether the other end of a connection answers a ping in time. `connection` is that of a call's context; a stream that has lost its
 * connection cannot answer.
 */
export function answersPing(connection: object, timeoutMs: number): Promise<boolean> {
  const session = connection as Partial<ServerHttp2Session>;
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), timeoutMs).unref();
    const done = (isThere: boolean): void => {
      clearTimeout(late);
      resolve(isThere);
    };
    if (session.ping === undefined || session.destroyed === true) return done(false);
    try {
      const isSent = session.ping((error: Error | null) => done(error === null));
      if (!isSent) done(false);
    } catch {
      done(false); // it was closed in between
    }
  });
}
