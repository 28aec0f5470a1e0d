import { AppError } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { type OwnNames, refuseForeignPages } from "../../web/browser-guard.ts";
import { coerceQuery } from "./schemas/coerce-query.ts";
import type { HttpHost } from "./guards/host.ts";
import { outcomeOf } from "./guards/answer-failures.ts";
import type { App } from "./schemas/typebox-provider.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The operations of its principal: routes have no other operations. */
    operations: Operations;
  }
}

/** Hooks around every request. */
export function addHooks(
  app: App,
  { streams, traffic, operations, identify }: HttpHost,
  { names }: { readonly names: OwnNames },
): void {
  app.decorateRequest("operations");
  app.addHook("onRequest", async (request, reply) => {
    const { raw, headers, socket } = request;
    if (streams.isClosing) {
      reply.header("connection", "close");
      throw new AppError("unavailable", "the server is stopping; try again soon");
    }
    refuseForeignPages(raw, names);
    const address = addressOf(`${socket.remoteAddress}:`);
    request.operations = operations.as(identify({ address, headers }));
  });
  app.addHook("preValidation", async (request) => {
    const { schema } = request.routeOptions;
    if (schema?.querystring) {
      request.query = coerceQuery(request.query as Record<string, unknown>, schema.querystring);
    }
    // A body whose fields are all optional is optional itself; except with PUT, which always puts something.
    const isOptional = schema?.body !== undefined && request.method !== "PUT";
    if (isOptional && request.body === undefined) request.body = {};
  });
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unmatched";
    const outcome = { code: outcomeOf(reply), ms: reply.elapsedTime };
    traffic.record("http", `${request.method} ${route}`, outcome);
  });
}
