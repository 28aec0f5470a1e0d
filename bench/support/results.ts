import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMet, ratioOf } from "./part.ts";
import type { Result } from "./run-cases.ts";

/** Not under version control: numbers belong to the machine they were measured on. */
export const resultsDirectory = fileURLToPath(new URL("../results/", import.meta.url));

export function writeResults(
  results: readonly Result[],
  { file, isQuick }: { readonly file: string; readonly isQuick: boolean },
): void {
  const judged = results.map((result) => ({
    ...result,
    measures: result.measures.map((measure) => ({
      ...measure,
      isMet: isMet(measure),
      ratio: ratioOf(measure),
    })),
  }));
  const machine = { cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
  const report = { at: new Date().toISOString(), machine, isQuick, results: judged };
  mkdirSync(dirname(resolve(file)), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
}
