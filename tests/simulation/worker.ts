import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { CheckerName } from "./checkers.ts";
import type { Seams } from "./seams.ts";

/** Simulates the seeds in a separate thread. */
export interface WorkerTask {
  readonly seeds: readonly number[];
  readonly fault: Fault | undefined;
}

/** The deliberate fault; the thread ends with the first seed in which this checker detects it. */
export interface Fault {
  readonly caughtBy: CheckerName;
  readonly seams: Partial<Seams>;
  /** By file ("src/core/..."): the text that is loaded instead of the file's. */
  readonly sources: ReadonlyMap<string, string>;
}

const { seeds, fault } = workerData as WorkerTask;
replaceSources(fault?.sources ?? new Map());
// Imported only now, so that its imports are changed.
const { simulate } = await import("./simulation.ts");
for (const seed of seeds) {
  const outcome = await simulate({ seed, seams: fault?.seams ?? {} });
  parentPort?.postMessage(outcome, []);
  if (fault !== undefined && outcome.failure?.checker === fault.caughtBy) break;
}

/** Modules are changed while they are loaded: the files stay unchanged. */
function replaceSources(sources: ReadonlyMap<string, string>): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const [, source] = [...sources].find(([file]) => url.endsWith(`/${file}`)) ?? [];
      return source === undefined ? loaded : { ...loaded, source };
    },
  });
}
