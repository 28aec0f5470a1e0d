import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { EdgeChecker } from "./checkers.ts";
import type { EdgeSimulation } from "./simulate-edges.ts";

/** Simulates with modules that are broken on purpose, until this checker detects it. */
export interface EdgeTask {
  readonly runs: readonly EdgeSimulation[];
  readonly caughtBy: EdgeChecker;
  /** By file ("src/core/..."): the text that is loaded instead of the file's. */
  readonly sources: ReadonlyMap<string, string>;
}

const { runs, caughtBy, sources } = workerData as EdgeTask;
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const [, source] = [...sources].find(([file]) => url.endsWith(`/${file}`)) ?? [];
    return source === undefined ? loaded : { ...loaded, source };
  },
});
// Imported only now, so that its imports are changed.
const { simulateEdges } = await import("./simulate-edges.ts");
for (const run of runs) {
  const outcome = simulateEdges(run);
  parentPort?.postMessage(outcome, []);
  if (outcome.failure?.checker === caughtBy) break;
}
