import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { selectCases } from "./parts/all.ts";
import { readProfile } from "./support/cpu-profile.ts";
import { renderProfile } from "./support/render-profile.ts";
import { renderResults } from "./support/render.ts";
import { resultsDirectory } from "./support/results.ts";
import { cleanUpOnSignals, runCase } from "./support/run-cases.ts";
import { refuse } from "./support/usage.ts";

// Profiles of parts: `npm run profile -- <part…> [--target server|agent] [--from-start] [--quick]`. Each part runs with V8's sampling
// profiler in the server or in the agent; the profiles stay under bench/results and open in Chrome's or VS Code's viewer. The start is left
// out by default.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    target: { type: "string", default: "server" },
    "from-start": { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
  },
});
const target = values.target === "server" || values.target === "agent" ? values.target : undefined;
if (target === undefined) refuse(`--target: "${values.target}" is none of server, agent`);
if (positionals.length === 0) refuse("name a part, e.g. npm run profile -- b.array");

/** "CPU.DATE.TIME.PID.TID.SEQ.cpuprofile": thread 0 is the main one, the server's other one is the store's. */
const pidOf = (file: string): number => Number(file.split(".")[3]);
const threadOf = (file: string): string => (/\.0\.\d+\.cpuprofile$/.test(file) ? "main" : "store");

cleanUpOnSignals();
for (const each of selectCases(positionals)) {
  const directory = join(resultsDirectory, `profile-${each.id}-${target}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const readyUs = new Map<number, number>();
  const profiling = { target, directory, readyUs } as const;
  const result = await runCase(each, { isQuick: values.quick, profiling });
  process.stdout.write(`${renderResults([result])}\n`);
  for (const file of readdirSync(directory).toSorted()) {
    const title = `${each.id}, ${target}, ${threadOf(file)} thread (${file})`;
    const fromUs = values["from-start"] ? 0 : (readyUs.get(pidOf(file)) ?? 0);
    const profile = readProfile(join(directory, file), fromUs);
    process.stdout.write(`${renderProfile(title, profile, Math.max(1, result.tasks))}\n`);
  }
  if (result.failure !== undefined) process.exitCode = 1;
}
