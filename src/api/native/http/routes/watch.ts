import { Type } from "typebox";
import { AppError } from "../../../../lib/errors.ts";
import type { HttpHost } from "../host.ts";
import { WatchQuery } from "../request-schemas.ts";
import { optional, text } from "../schema.ts";
import { sseStream } from "../sse.ts";
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
              "Events sync, job, task, node, group and removed with JSON as data; at last `closed` " +
              "with the error that ended the stream. After a lost link changes may come again, " +
              "but none is missed",
          }),
          ...failures,
        },
      },
    },
    async ({ query, headers }, reply) => {
      const ended = streams.open();
      reply.raw.once("close", () => ended.abort());
      const watched = fromWatchQuery(query, headers["last-event-id"]);
      const events = operations.watch(watched, ended.signal)[Symbol.asyncIterator]();
      // The first comes at once; waiting for it lets a refusal be answered as one.
      const first = await events.next();
      if (first.done === true) throw new AppError("unavailable", "the watch ended at once");
      reply.header("cache-control", "no-store").header("x-accel-buffering", "no");
      reply.type("text/event-stream; charset=utf-8");
      return reply.send(sseStream(events, ended, { first: first.value, heartbeatMs }));
    },
  );
}
