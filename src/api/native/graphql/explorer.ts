import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyReply } from "fastify";
import { pageFolder } from "../../../lib/files/page-files.ts";
import type { App } from "../http/schemas/typebox-provider.ts";

const folder = pageFolder("graphql");

/** As strict as that of /docs: nothing is loaded from other origins. */
const POLICY =
  "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const FILES = {
  "explorer.js": "text/javascript; charset=utf-8",
  "explorer.css": "text/css; charset=utf-8",
} as const;

async function send(reply: FastifyReply, name: string, type: string): Promise<FastifyReply> {
  return reply
    .header("content-security-policy", POLICY)
    .header("x-content-type-options", "nosniff")
    .header("cache-control", "no-cache")
    .type(type)
    .send(await readFile(join(folder, name)));
}

/** A page to write and run queries and to read about the schema; works without a network. */
export const sendExplorer = (reply: FastifyReply): Promise<FastifyReply> =>
  send(reply, "explorer.html", "text/html; charset=utf-8");

export function explorerRoutes(app: App): void {
  for (const [name, type] of Object.entries(FILES)) {
    const options = { exposeHeadRoute: false, schema: { hide: true } };
    app.get(`/graphql/${name}`, options, (_, reply) => send(reply, name, type));
  }
}
