import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { Edit } from "./mutants.ts";
import { MUTANTS } from "./mutants.ts";

/** Simulates the seeds in a thread of its own, up to the first that catches the mutant. */
export interface WorkerTask {
  readonly seeds: readonly number[];
  readonly mutant: string | undefined;
}

const { seeds, mutant: name } = workerData as WorkerTask;
const mutant = MUTANTS.find((one) => one.name === name);
if (name !== undefined && mutant === undefined) throw new Error(`there is no mutant ${name}`);
mutate(mutant?.edits ?? []);
// Only now, so that what it imports is changed.
const { simulate } = await import("./simulation.ts");
for (const seed of seeds) {
  const seams = mutant?.seam === undefined ? {} : { [mutant.seam]: true };
  const outcome = await simulate({ seed, seams });
  parentPort?.postMessage(outcome, []);
  if (mutant !== undefined && outcome.failure?.checker === mutant.caughtBy) break;
}

/** Modules are changed as they are read: the files stay as they are. */
function mutate(edits: readonly Edit[]): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = edits.filter(({ file }) => url.endsWith(`/${file}`));
      if (own.length === 0) return loaded;
      let source = Buffer.from(loaded.source as Uint8Array).toString(); // a string, or bytes
      for (const { file, find, replace } of own) {
        if (source.split(find).length !== 2) {
          throw new Error(`mutant ${name}: ${file} must hold ${JSON.stringify(find)} once`);
        }
        source = source.replace(find, () => replace);
      }
      return { ...loaded, source };
    },
  });
}
