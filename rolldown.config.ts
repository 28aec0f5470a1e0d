import { defineConfig } from "rolldown";

// What ./busbar runs. A few large files are loaded in less time and memory than a thousand small ones:
// of the libraries only what is used is left, and each module has a price of its own.
export default defineConfig({
  input: {
    main: "src/main.ts",
    worker: "src/store/sqlite/worker.ts",
    "reader-worker": "src/server/readers/reader-worker.ts",
  },
  platform: "node",
  external: [/^@fastify\/swagger/], // they look for files beside their own
  // No hashes: a server that runs while it is built again still finds what it has not loaded yet.
  output: { dir: "dist", chunkFileNames: "[name].js" },
});
