import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import { SubmitBody, SubmitBodyShown } from "./request-schemas.ts";
import type { App } from "./typebox-provider.ts";

const DESCRIPTION = `Submit jobs, watch them, read what they print. Times are milliseconds since
1970, durations milliseconds. Every refusal is JSON: \`{"error": {"code", "message", "field"}}\`.`;

/** Describes all routes added after this: a document for programs, a page for people. */
export async function addDocs(app: App, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: { title: "Busbar", version, description: DESCRIPTION },
    },
    refResolver: { buildLocalReference: ({ $id }) => (typeof $id === "string" ? $id : "") },
    transform: ({ schema, url }) => ({
      schema: schema?.body === SubmitBody ? { ...schema, body: SubmitBodyShown } : schema,
      url,
    }),
  });
  await app.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    // Without a validator, which would be somewhere on the internet.
    uiConfig: { validatorUrl: null, tryItOutEnabled: true, docExpansion: "list" },
    staticCSP: {
      "default-src": "'self'",
      "style-src": ["'self'", "'unsafe-inline'"],
      "img-src": ["'self'", "data:"],
      "frame-ancestors": "'none'",
    },
    theme: { title: "Busbar" },
  });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}
