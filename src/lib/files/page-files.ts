import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./package-root.ts";

/**
 * The folder of static files. The build copies them into `dist/pages`; in a checkout the server reads the originals, so that a change shows
 * at once.
 */
export function pageFolder(name: "graphql" | "swagger-ui"): string {
  const root = packageRoot(import.meta.dirname);
  const source = join(root, PAGE_SOURCES[name]);
  return existsSync(source) ? source : join(root, "dist", "pages", name);
}

/** The folder with the files of each page, below the root of a checkout. */
export const PAGE_SOURCES = {
  graphql: "src/api/native/graphql/explorer",
  "swagger-ui": "node_modules/@fastify/swagger-ui/static",
} as const;

/** The files of swagger-ui that our page uses. */
export const SWAGGER_UI_FILES = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
} as const;
