import type { FastifyReply, FastifyRequest } from "fastify";
import { getArgumentValues, getVariableValues } from "graphql";
import { AppError } from "../../../lib/errors.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import type { WatchQuery } from "../../../server/operations/operations.ts";
import type { WatchFormat } from "../../../server/watch/watch-format.ts";
import type { HttpHost } from "../http/guards/host.ts";
import { SseStream, type SseWire } from "../http/sse.ts";
import { fromWatchQuery } from "../http/translate.ts";
import type { FieldNotes } from "../../web/graphql-extension.ts";
import { InvalidDocument } from "./documents/read-document.ts";
import type { GraphqlAnswer, GraphqlEngine, Prepared } from "./engine.ts";

const COMPLETE = "event: complete\ndata:\n\n";
const NOTHING = Buffer.from(":\n\n");

/** A response as in graphql-sse, in its mode of one connection for each operation. */
export const nextEvent = (answer: GraphqlAnswer, id?: number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: next\ndata: ${JSON.stringify(answer)}\n\n`;

/** A whole response at once. */
export const wholeStream = (answer: GraphqlAnswer): string => nextEvent(answer) + COMPLETE;

/**
 * Formats of the open subscriptions. Readers with the same request text share one: the watch hub then renders each event once for all of
 * them.
 */
export class OpenFormats {
  readonly #open = new Map<string, { readonly format: WatchFormat; readers: number }>();

  /** Until `close` is called. */
  take(
    engine: GraphqlEngine,
    prepared: Prepared,
  ): { readonly format: WatchFormat; readonly close: () => void } {
    const { query, sha256, operationName, variables } = prepared.request;
    const key = JSON.stringify([query ?? sha256, operationName, variables]);
    const open = this.#open.get(key) ?? { format: formatOf(engine, prepared), readers: 0 };
    open.readers++;
    this.#open.set(key, open);
    const close = (): void => {
      if (--open.readers === 0) this.#open.delete(key);
    };
    return { format: open.format, close };
  }
}

const formatOf = (engine: GraphqlEngine, prepared: Prepared): WatchFormat => ({
  name: "graphql",
  render(event) {
    const answer = engine.event(prepared, event);
    return answer === undefined ? NOTHING : Buffer.from(nextEvent(answer, event.revision));
  },
});

/** The watch of a subscription. A browser that reconnects names the last event that it saw. */
function watchQueryOf(
  { schema }: GraphqlEngine,
  { operation, request, measured: { first } }: Prepared,
  lastEventId: unknown,
): WatchQuery {
  const { coerced, errors } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    request.variables,
  );
  if (coerced === undefined) throw new InvalidDocument(errors);
  const { watch } = (first?.field.extensions["notes"] ?? {}) as FieldNotes;
  if (first === undefined || watch === undefined) {
    throw new AppError("invalid_argument", "a subscription has one field", { field: "query" });
  }
  const asked = watch(getArgumentValues(first.field, first.node, coerced));
  const seen = fromWatchQuery({}, lastEventId).afterRevision;
  return seen === undefined ? asked : { ...asked, afterRevision: seen };
}

interface Streaming {
  readonly engine: GraphqlEngine;
  readonly formats: OpenFormats;
  readonly host: HttpHost;
  readonly heartbeatMs: number;
}

/** Answers with a stream that continues until either side ends it. */
export function openSubscription(
  { engine, formats, host, heartbeatMs }: Streaming,
  prepared: Prepared,
  { headers, socket, operations }: FastifyRequest,
  reply: FastifyReply,
): void {
  // Its close has passed: nothing would end the watch.
  if (reply.raw.destroyed) throw new AppError("unavailable", "the caller has disconnected");
  const asked = watchQueryOf(engine, prepared, headers["last-event-id"]);
  const { format, close } = formats.take(engine, prepared);
  const wire: SseWire = {
    format,
    isGzip: false,
    formatEnd: (error) => Buffer.from(wholeStream(engine.refusal(error))),
  };
  const sink = new SseStream(reply.raw, wire);
  const caller = { connection: socket, address: addressOf(`${socket.remoteAddress}:`) };
  try {
    const watch = operations.watch(asked, { format, sink, caller });
    const ended = host.streams.open();
    ended.signal.addEventListener("abort", () => {
      if (ended.signal.reason instanceof AppError) watch.end(ended.signal.reason);
    });
    reply.raw.once("close", () => {
      ended.abort();
      close();
    });
    reply.hijack();
    sink.start(watch, heartbeatMs);
  } catch (error) {
    close();
    throw error;
  }
}
