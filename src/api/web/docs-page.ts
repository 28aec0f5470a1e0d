import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pageFolder, SWAGGER_UI_FILES } from "../../lib/files/page-files.ts";

/** A page that shows an OpenAPI document with swagger-ui. It needs no network. */
export interface DocsPage {
  readonly title: string;
  /** The path of the page: "/docs". */
  readonly path: string;
  /** The path of the document: "/v1/openapi.json". */
  readonly document: string;
  /** Additional settings of SwaggerUIBundle. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface DocsFile {
  readonly type: string;
  readonly body: string;
}

export const DOCS_HEADERS = {
  "content-security-policy":
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
} as const;

/** The page itself has the empty name. */
export const DOCS_FILES: readonly string[] = ["", "start.js", ...Object.keys(SWAGGER_UI_FILES)];

/** A file of the page by its name below the page's path; undefined: there is no such file. */
export async function docsFile(page: DocsPage, name: string): Promise<DocsFile | undefined> {
  if (name === "") return { type: "text/html; charset=utf-8", body: htmlOf(page) };
  if (name === "start.js") return { type: "text/javascript; charset=utf-8", body: startOf(page) };
  const type: string | undefined = Object.entries(SWAGGER_UI_FILES).find(([n]) => n === name)?.[1];
  if (type === undefined) return undefined;
  return { type, body: await readFile(join(pageFolder("swagger-ui"), name), "utf8") };
}

const htmlOf = ({ title, path }: DocsPage): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${title}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="${path}/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="${path}/swagger-ui-bundle.js"></script>
    <script src="${path}/start.js"></script>
  </body>
</html>
`;

/** No validator: it would be on the internet. */
function startOf({ document, settings }: DocsPage): string {
  const all = { url: document, dom_id: "#swagger-ui", validatorUrl: null, ...settings };
  return `SwaggerUIBundle(${JSON.stringify(all)});\n`;
}
