import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import { completeDocument } from "./document.ts";
import { SubmitBody, SubmitBodyShown } from "./schemas/request-schemas.ts";
import type { App } from "./schemas/typebox-provider.ts";

const DESCRIPTION = `Submit jobs, watch them, read what they print. Times are milliseconds since
1970, durations milliseconds. Every refusal is JSON: \`{"error": {"code", "message", "field"}}\`.
A request that does not fit its schema is refused with 400; one that fits and cannot be followed with 422.`;

/** Describes all routes added after this: a document for programs, a page for people. */
export async function addDocs(app: App, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Busbar",
        version,
        description: DESCRIPTION,
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/" }],
      security: [],
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
  app.addHook("onReady", async () => {
    const { paths = {} } = app.swagger(); // from here on it stays the same
    completeDocument(paths as Parameters<typeof completeDocument>[0]);
  });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}
