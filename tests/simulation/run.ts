import { parseArgs } from "node:util";
import { faultOf, findMutant } from "./mutants/catch.ts";
import { seedsFrom, simulateSeeds } from "./seeds.ts";
import type { Outcome } from "./simulation.ts";
import { simulate } from "./simulation.ts";

const USAGE = `Usage: npm run sim -- [options]
  --seeds <n>     how many seeds to run (default 200)
  --from <n>      the first of them (default 1)
  --workers <n>   threads (default 2)
  --seed <n>      run one seed
  --verbose       with --seed: print everything that happens
  --mutant <name> with --seeds: with a mutant's fault put in (npm run mutants -- --list)`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    workers: { type: "string", default: "2" },
    seed: { type: "string" },
    verbose: { type: "boolean", default: false },
    mutant: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

function tell({ seed, failure }: Outcome): void {
  if (failure === undefined) return;
  say(`\nseed ${seed} failed: ${failure.message}\n${failure.last.join("\n")}`);
  // A mutant exists only in the threads of a run of many: --seed would show the unmodified product.
  if (values.mutant === undefined) say(`replay: npm run sim -- --seed ${seed} --verbose`);
}

async function runOne(seed: number): Promise<number> {
  const outcome = await simulate({ seed, ...(values.verbose ? { print: say } : {}) });
  tell(outcome);
  const { failure, last: _last, ...rest } = { ...outcome, last: undefined };
  say(JSON.stringify({ ...rest, failure: failure?.checker ?? null }));
  return failure === undefined ? 0 : 1;
}

async function runMany(mutant: string | undefined): Promise<number> {
  const startedMs = performance.now();
  const [from, count] = [Number(values.from), Number(values.seeds)];
  const sum = {
    seeds: 0,
    failed: 0,
    events: 0,
    executions: 0,
    restarts: 0,
    commits: 0,
    virtualMs: 0,
  };
  const range = { seeds: seedsFrom(from, count), workers: Number(values.workers) };
  const fault = mutant === undefined ? {} : { fault: faultOf(findMutant(mutant)) };
  await simulateSeeds({ ...range, ...fault }, (outcome) => {
    sum.seeds++;
    if (outcome.failure !== undefined) sum.failed++;
    for (const name of ["events", "executions", "restarts", "commits", "virtualMs"] as const) {
      sum[name] += outcome[name];
    }
    tell(outcome);
    if (sum.seeds % 100 === 0) say(`${sum.seeds} of ${count} seeds, ${sum.failed} failed`);
  });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  say(`${JSON.stringify(sum)} in ${seconds} s`);
  return sum.failed === 0 ? 0 : 1;
}

/** A run of no seeds would look like success. */
const wrong = (["seeds", "from", "workers", "seed"] as const).find((name) => {
  const text = values[name];
  return text !== undefined && !/^[1-9]\d{0,8}$/.test(text);
});

if (values.help) say(USAGE);
else if (wrong !== undefined) {
  process.stderr.write(`--${wrong}: "${values[wrong]}" is not a whole number from 1\n${USAGE}\n`);
  process.exitCode = 2;
} else if (values.seed === undefined) process.exitCode = await runMany(values.mutant);
else process.exitCode = await runOne(Number(values.seed));
