import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { EdgeChecker } from "./checkers.ts";
import type { EdgeSimulation } from "./simulate-edges.ts";

/** Simulates with modules that are broken on purpose, until this checker sees it. */
export interface EdgeTask {
  readonly runs: readonly EdgeSimulation[];
  readonly caughtBy: EdgeChecker;
  /** By file ("src/core/..."): the text that is loaded in place of the file's. */
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
// Only now, so that what it imports is changed.
const { simulateEdges } = await import("./simulate-edges.ts");
for (const run of runs) {
  const outcome = simulateEdges(run);
  parentPort?.postMessage(outcome, []);
  if (outcome.failure?.checker === caughtBy) break;
}
