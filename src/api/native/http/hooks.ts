import { AppError } from "../../../lib/errors.ts";
import { type OwnNames, refuseForeignPages } from "./guards/browser-guard.ts";
import { coerceQuery } from "./schemas/coerce-query.ts";
import type { HttpHost } from "./guards/host.ts";
import { outcomeOf } from "./guards/answer-failures.ts";
import type { App } from "./schemas/typebox-provider.ts";

/** What happens around every request. */
export function addHooks(
  app: App,
  { streams, traffic }: HttpHost,
  { names }: { readonly names: OwnNames },
): void {
  app.addHook("onRequest", async ({ raw }, reply) => {
    if (streams.isClosing) {
      reply.header("connection", "close");
      throw new AppError("unavailable", "the server is stopping; try again soon");
    }
    refuseForeignPages(raw, names);
  });
  app.addHook("preValidation", async (request) => {
    const { schema } = request.routeOptions;
    if (schema?.querystring) {
      request.query = coerceQuery(request.query as Record<string, unknown>, schema.querystring);
    }
    // All fields of a body that may be left out can be left out together; but PUT puts something.
    const isOptional = schema?.body !== undefined && request.method !== "PUT";
    if (isOptional && request.body === undefined) request.body = {};
  });
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unmatched";
    const outcome = { code: outcomeOf(reply), ms: reply.elapsedTime };
    traffic.record("http", `${request.method} ${route}`, outcome);
  });
}
