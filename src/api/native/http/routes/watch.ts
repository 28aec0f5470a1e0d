import { Type } from "typebox";
import { acceptsGzip } from "../../../../lib/bytes/accept-encoding.ts";
import { AppError } from "../../../../lib/errors.ts";
import { addressOf } from "../../../grpc/peer-address.ts";
import type { HttpHost } from "../guards/host.ts";
import { WatchQuery } from "../schemas/request-schemas.ts";
import { optional, text } from "../schemas/schema.ts";
import { SseStream, watchWire } from "../sse.ts";
import { fromWatchQuery } from "../translate.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { bytesOf, failures, failures422 } from "./answers.ts";

const WatchHeaders = Type.Object({
  "last-event-id": optional(text("Continue after the event with this id; browsers send it")),
  "accept-encoding": optional(text("With `gzip` the stream is compressed, block by block")),
});

const SseEvent = Type.Object({
  id: optional(text("The revision; send the last one as Last-Event-ID to continue after it")),
  event: text("The kind of event"),
  data: text("JSON"),
});

export function watchRoute(app: App, host: HttpHost, heartbeatMs: number): void {
  const { streams } = host;
  app.get(
    "/v1/watch",
    {
      exposeHeadRoute: false,
      schema: {
        tags: ["watch"],
        operationId: "watch",
        summary: "Watch all changes, in order, as server-sent events",
        headers: WatchHeaders,
        querystring: WatchQuery,
        response: {
          200: bytesOf(
            "text/event-stream",
            "Events sync, job, task, node, cluster, group, removed and bookmark with JSON as data; at " +
              "last `closed` with the error that ended the stream and the revision to resume from. After " +
              "a lost connection the stream continues after the last event that was received",
            SseEvent,
          ),
          ...failures422,
          ...failures,
        },
      },
    },
    async ({ query, headers, socket, operations }, reply) => {
      const wire = watchWire(acceptsGzip(headers["accept-encoding"]));
      const sink = new SseStream(reply.raw, wire);
      const caller = { connection: socket, address: addressOf(`${socket.remoteAddress}:`) };
      const asked = fromWatchQuery(query, headers["last-event-id"]);
      const watch = operations.watch(asked, { format: wire.format, sink, caller });
      const ended = streams.open();
      ended.signal.addEventListener("abort", () => {
        if (ended.signal.reason instanceof AppError) watch.end(ended.signal.reason);
      });
      reply.raw.once("close", () => ended.abort());
      reply.hijack();
      sink.start(watch, heartbeatMs);
    },
  );
}
