import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { CheckerName } from "./checkers.ts";
import type { Seams } from "./seams.ts";

/** Simulates the seeds in a thread of its own. */
export interface WorkerTask {
  readonly seeds: readonly number[];
  readonly fault: Fault | undefined;
}

/** What is broken on purpose; the thread ends with the first seed in which this checker sees it. */
export interface Fault {
  readonly caughtBy: CheckerName;
  readonly seams: Partial<Seams>;
  /** By file ("src/core/..."): the text that is loaded in place of the file's. */
  readonly sources: ReadonlyMap<string, string>;
}

const { seeds, fault } = workerData as WorkerTask;
replaceSources(fault?.sources ?? new Map());
// Only now, so that what it imports is changed.
const { simulate } = await import("./simulation.ts");
for (const seed of seeds) {
  const outcome = await simulate({ seed, seams: fault?.seams ?? {} });
  parentPort?.postMessage(outcome, []);
  if (fault !== undefined && outcome.failure?.checker === fault.caughtBy) break;
}

/** Modules are changed as they are read: the files stay as they are. */
function replaceSources(sources: ReadonlyMap<string, string>): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const [, source] = [...sources].find(([file]) => url.endsWith(`/${file}`)) ?? [];
      return source === undefined ? loaded : { ...loaded, source };
    },
  });
}
