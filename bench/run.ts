import { join } from "node:path";
import { parseArgs } from "node:util";
import { selectCases } from "./parts/all.ts";
import { renderResults } from "./support/render.ts";
import { resultsDirectory, writeResults } from "./support/results.ts";
import { cleanUpOnSignals, type Result, runCase } from "./support/run-cases.ts";

// Measures the promises of docs/performance.md: `npm run bench -- [part…] [--json FILE] [--quick]`.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" }, quick: { type: "boolean", default: false } },
});

cleanUpOnSignals();
const results: Result[] = [];
for (const each of selectCases(positionals)) {
  results.push(await runCase(each, { isQuick: values.quick }));
}
const file = values.json ?? join(resultsDirectory, "latest.json");
writeResults(results, { file, isQuick: values.quick });
process.stdout.write(`${renderResults(results)}\n`);
// A missed budget is reported, and is no failure: only a case that could not be measured is one.
process.exitCode = results.some(({ failure }) => failure !== undefined) ? 1 : 0;
