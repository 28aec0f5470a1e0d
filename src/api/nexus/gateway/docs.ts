import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type HttpAnswer, answer } from "../http/exchange.ts";
import { gatewayDocument } from "./openapi.ts";

const DOCS = "/intel.com/docs";
const DOCUMENT = "/intel.com/openapi.json";

const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Nexus API explorer</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${DOCS}/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${DOCS}/swagger-ui-bundle.js"></script>
    <script src="${DOCS}/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({ url: "${DOCUMENT}", dom_id: "#swagger-ui", validatorUrl: null, deepLinking: true });
`;

const FILES: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
};

const headers = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
};

/** The document, and a page that shows it without a network; undefined: something else was asked for. */
export async function serveDocs(path: readonly string[]): Promise<HttpAnswer | undefined> {
  switch (path.join("/")) {
    case "intel.com/openapi.json":
    case "explorer/openapi.json":
      return answer(gatewayDocument());
    case "intel.com/docs":
      return { status: 200, body: PAGE, type: "text/html; charset=utf-8", headers };
    case "intel.com/docs/start.js":
      return { status: 200, body: START, type: "text/javascript; charset=utf-8", headers };
    default: {
      const [first, second, file = "", ...more] = path;
      const type = FILES[file];
      const isFile = first === "intel.com" && second === "docs" && more.length === 0;
      if (!isFile || type === undefined) return undefined;
      return { status: 200, body: await assetOf(file), type, headers };
    }
  }
}

/** The files of swagger-ui that come with the page of REST. */
async function assetOf(file: string): Promise<string> {
  const main = createRequire(import.meta.url).resolve("@fastify/swagger-ui");
  return readFile(join(dirname(main), "static", file), "utf8");
}
