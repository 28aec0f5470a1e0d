import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "rolldown";
import { PAGE_SOURCES, SWAGGER_UI_FILES } from "./src/lib/files/page-files.ts";

const SWAGGER_UI = "node_modules/@fastify/swagger-ui";

/** Files that are served as they are, and the licences of the packages whose code is in the bundle. */
const besideCode: Plugin = {
  name: "beside-code",
  writeBundle({ dir = "dist" }, bundle) {
    const pages = join(dir, "pages");
    cpSync(PAGE_SOURCES.graphql, join(pages, "graphql"), { recursive: true });
    mkdirSync(join(pages, "swagger-ui"), { recursive: true });
    for (const name of Object.keys(SWAGGER_UI_FILES)) {
      cpSync(join(PAGE_SOURCES["swagger-ui"], name), join(pages, "swagger-ui", name));
    }
    const modules = Object.values(bundle).flatMap((part) =>
      part.type === "chunk" ? part.moduleIds : [],
    );
    const packages = modules.flatMap((id) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []);
    const folders = [...new Set([...packages, SWAGGER_UI])].toSorted();
    writeFileSync(join(dir, "LICENSES.txt"), folders.map(licenceOf).join("\n"));
  },
};

/**
 * Whoever imports a module of Node as one of ECMAScript pays for all of its exports, also for what Node
 * would load when it is used: 8 ms of CPU for those that the command line needs.
 */
const builtinsAsTheyAre: Plugin = {
  name: "builtins-as-they-are",
  renderChunk: (code) =>
    code.replaceAll(BUILTIN_IMPORT, (_, whole: string | undefined, names = "", module: string) => {
      const found = `globalThis.process.getBuiltinModule("${module}")`;
      const parts = [whole?.replace("* as ", ""), names.replaceAll(" as ", ": ")];
      return parts.flatMap((part) => (part ? [`const ${part} = ${found};`] : [])).join(" ");
    }),
};
const BUILTIN_IMPORT = /^import ((?:\* as )?[\w$]+)?(?:, )?(\{[^}]*\})? from "(node:[\w/]+)";$/gm;

/** Commander starts programs only for commands that are files of their own: there are none here. */
const withoutChildProcess: Plugin = {
  name: "without-child-process",
  resolveId: (id, importer) =>
    id === "node:child_process" && /node_modules\/commander\//.test(importer ?? "")
      ? "\0no-child-process"
      : null,
  load: (id) => (id === "\0no-child-process" ? "export default {};" : null),
};

function licenceOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
  return `==== ${manifest.name} ${manifest.version}: ${manifest.license ?? ""}\n\n${text}`;
}

// What ./busbar runs. A few large files are loaded in less time and memory than a thousand small ones:
// of the libraries only what is used is left, and each module has a price of its own.
export default defineConfig({
  input: {
    main: "src/main.ts",
    index: "src/client/index.ts",
    "container-preparer": "src/agent/executors/oci/container-preparer.ts",
    worker: "src/store/sqlite/worker.ts",
    "reader-worker": "src/server/readers/reader-worker.ts",
  },
  platform: "node",
  plugins: [besideCode, withoutChildProcess, builtinsAsTheyAre],
  // No hashes: a server that runs while it is built again still finds what it has not loaded yet.
  output: {
    dir: "dist",
    chunkFileNames: "[name].js",
    // One file for what every command needs, one for those that call a server,
    // one for those that list and one for those that submit.
    codeSplitting: {
      groups: [
        { name: "version", test: /src\/cli\/service\/version\.ts$/, priority: 4 },
        { name: "cli", test: /src\/(cli\/program|system\/process-context)\.ts$/, priority: 3 },
        { name: "lean-client", test: /src\/client\/lean-client\.ts$/, priority: 2 },
        {
          name: "cli-lists",
          test: /src\/cli\/(live\/watch-list|render\/jobs|flags|json)\.ts$/,
          priority: 1,
        },
        { name: "cli-submit", test: /src\/cli\/submit\/(job-flags|submit-input|submit)\.ts$/ },
      ],
    },
  },
});
