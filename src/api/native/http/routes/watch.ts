import { Type } from "typebox";
import { AppError } from "../../../../lib/errors.ts";
import { addressOf } from "../../../grpc/peer-address.ts";
import type { HttpHost } from "../host.ts";
import { WatchQuery } from "../request-schemas.ts";
import { optional, text } from "../schema.ts";
import { SseStream, WATCH_SSE } from "../sse.ts";
import { fromWatchQuery } from "../translate.ts";
import type { App } from "../typebox-provider.ts";
import { failures } from "./answers.ts";

const WatchHeaders = Type.Object({
  "last-event-id": optional(text("Go on after the event with this id; browsers send it")),
});

export function watchRoute(app: App, host: HttpHost, heartbeatMs: number): void {
  const { operations, streams } = host;
  app.get(
    "/v1/watch",
    {
      exposeHeadRoute: false,
      schema: {
        tags: ["watch"],
        summary: "Hear of everything that changes, in order, as server-sent events",
        headers: WatchHeaders,
        querystring: WatchQuery,
        produces: ["text/event-stream"],
        response: {
          200: Type.Unsafe<unknown>({
            type: "string",
            description:
              "Events sync, job, task, node, group, removed and bookmark with JSON as data; at last " +
              "`closed` with the error that ended the stream and the revision to resume from. After " +
              "a lost link changes may come again, but none is missed",
          }),
          ...failures,
        },
      },
    },
    async ({ query, headers, socket }, reply) => {
      const sink = new SseStream(reply.raw);
      const caller = { connection: socket, address: addressOf(`${socket.remoteAddress}:`) };
      const asked = fromWatchQuery(query, headers["last-event-id"]);
      const watch = operations.watch(asked, { format: WATCH_SSE, sink, caller });
      const ended = streams.open();
      ended.signal.addEventListener("abort", () => {
        if (ended.signal.reason instanceof AppError) sink.end(ended.signal.reason);
      });
      reply.raw.once("close", () => ended.abort());
      reply.hijack();
      sink.start(watch, heartbeatMs);
    },
  );
}
