import fastifySwagger from "@fastify/swagger";
import { invariant } from "../../../lib/invariant.ts";
import { DOCS_FILES, DOCS_HEADERS, docsFile, type DocsPage } from "../../web/docs-page.ts";
import { completeDocument } from "./document.ts";
import { SubmitBody, SubmitBodyShown } from "./schemas/request-schemas.ts";
import type { App } from "./schemas/typebox-provider.ts";

const DESCRIPTION = `Submit jobs, watch them, read their output. Times are milliseconds since
1970, durations milliseconds. Every error is JSON: \`{"error": {"code", "message", "field"}}\`.
A request that does not match its schema gets 400; one that matches and still cannot be executed gets 422.`;

const PAGE: DocsPage = {
  title: "Busbar",
  path: "/docs",
  document: "/v1/openapi.json",
  settings: { tryItOutEnabled: true, docExpansion: "list" },
};

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
  app.addHook("onReady", async () => {
    const { paths = {} } = app.swagger(); // constant from here on
    completeDocument(paths as Parameters<typeof completeDocument>[0]);
  });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
  for (const name of DOCS_FILES) docsRoute(app, `${PAGE.path}/${name}`, name);
  docsRoute(app, PAGE.path, "");
}

function docsRoute(app: App, url: string, name: string): void {
  app.get(url, { exposeHeadRoute: false, schema: { hide: true } }, async (_, reply) => {
    const file = await docsFile(PAGE, name);
    invariant(file !== undefined, `the page of the documentation has ${name}`);
    const headers = { ...DOCS_HEADERS, "cache-control": "no-cache" };
    return reply.headers(headers).type(file.type).send(file.body);
  });
}
