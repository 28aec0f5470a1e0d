import { parseArgs } from "node:util";
import { killChildrenOnExit } from "./leave-nothing.ts";
import { runCrash, type CrashReport } from "./crash.ts";
import { sabotageKinds } from "./sabotage.ts";

const USAGE = `npm run crash -- [--rounds 200] [--seed N] [--lose-nodes] [--sabotage KIND]

Kills a server and its agents under load, round by round, and checks what is left.
--lose-nodes  nodes that stay away for 2 s are lost; else nothing may run again but by its retries
--sabotage    breaks the world on purpose, which must turn it red: ${sabotageKinds.join(", ")}
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

killChildrenOnExit();
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "lose-nodes": { type: "boolean", default: false },
    sabotage: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const sabotage = sabotageKinds.find((kind) => kind === values.sabotage);
const [rounds, seed] = [Number(values.rounds), Number(values.seed)];
const isUsable = Number.isInteger(rounds) && Number.isInteger(seed) && sabotage === values.sabotage;
if (values.help || !isUsable) {
  process.stderr.write(USAGE);
  process.exit(values.help ? 0 : 2);
}
print(`seed ${seed}`);
const report = await runCrash({
  rounds,
  seed,
  nodesMayBeLost: values["lose-nodes"],
  print,
  ...(sabotage === undefined ? {} : { sabotage }),
});
print(describe(report));
for (const problem of report.problems.slice(0, 50)) print(`WRONG ${problem}`);
if (report.problems.length > 0) print(`${report.problems.length} problems, seed ${seed}`);
process.exitCode = report.problems.length > 0 ? 1 : 0;

function describe(report: CrashReport): string {
  const { rounds, tookMs, jobs, tasks, unacknowledged, losses, seenEnded, lives } = report;
  const sorted = report.restartsMs.toSorted((a, b) => a - b);
  const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
  const spread = `median ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${Math.round(sorted.at(-1) ?? 0)} ms`;
  return [
    `${rounds} rounds in ${Math.round(tookMs / 1_000)} s; lives ${JSON.stringify(lives)}`,
    `${jobs} jobs, ${tasks} tasks (${seenEnded} seen to end), ${losses} lost attempts`,
    `${unacknowledged} submits never acknowledged`,
    `server starts: ${spread}`,
  ].join("\n");
}
