import { DOCS_HEADERS, docsFile, type DocsPage } from "../../web/docs-page.ts";
import { type HttpAnswer, answer } from "../http/exchange.ts";
import { gatewayDocument } from "./openapi.ts";

const PAGE: DocsPage = {
  title: "Nexus API explorer",
  path: "/intel.com/docs",
  document: "/intel.com/openapi.json",
  settings: { deepLinking: true },
};

/** The document, and a page that shows it without a network; undefined: another path. */
export async function serveDocs(path: readonly string[]): Promise<HttpAnswer | undefined> {
  const [first, second, name = "", ...more] = path;
  if (second === "openapi.json" && name === "" && (first === "intel.com" || first === "explorer"))
    return answer(gatewayDocument());
  if (first !== "intel.com" || second !== "docs" || more.length > 0) return undefined;
  const file = await docsFile(PAGE, name);
  return file && { status: 200, ...file, headers: DOCS_HEADERS };
}
