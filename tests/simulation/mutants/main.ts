import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { catchMutant, findMutant, NOTES, notedSeeds } from "./catch.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

const USAGE = `Usage: npm run mutants -- [options] [name ...]
  name             only these mutants (default: all)
  --list           print what each breaks and which checker must see it
  --update         note the seeds that caught them in caught-at.json
  --workers <n>    mutants at a time (default 2)`;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    update: { type: "boolean", default: false },
    workers: { type: "string", default: "2" },
    help: { type: "boolean", default: false },
  },
});

/** Tries all, some at a time; returns the seed that caught each. */
async function tryAll(mutants: readonly Mutant[]): Promise<Map<string, number | undefined>> {
  const noted = notedSeeds();
  const seeds = new Map<string, number | undefined>();
  const left = mutants.values();
  const work = async (): Promise<void> => {
    for (const mutant of left) {
      const seed = await catchMutant(mutant, noted[mutant.name]);
      seeds.set(mutant.name, seed);
      const end = seed === undefined ? "LIVES, unseen by" : `seed ${seed} caught by`;
      const before = noted[mutant.name];
      const note = before === seed ? "" : ` (noted: ${before ?? "none"})`;
      say(`${seeds.size}/${mutants.length} ${mutant.name}: ${end} ${mutant.caughtBy}${note}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.workers) }, work));
  return seeds;
}

/** Notes of mutants that were not tried stay. */
function note(seeds: ReadonlyMap<string, number | undefined>): void {
  const before = notedSeeds();
  const all = MUTANTS.flatMap(({ name }) => {
    const seed = seeds.get(name) ?? before[name];
    return seed === undefined ? [] : [[name, seed] as const];
  });
  writeFileSync(NOTES, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`);
}

async function run(mutants: readonly Mutant[]): Promise<number> {
  const startedMs = performance.now();
  const seeds = await tryAll(mutants);
  if (values.update) note(seeds);
  const alive = mutants.filter(({ name }) => seeds.get(name) === undefined);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  say(`${mutants.length - alive.length} of ${mutants.length} mutants caught in ${seconds} s`);
  return alive.length === 0 ? 0 : 1;
}

if (values.help) say(USAGE);
else if (!/^[1-9]\d?$/.test(values.workers)) {
  process.stderr.write(`--workers: "${values.workers}" is not a number from 1 to 99\n${USAGE}\n`);
  process.exitCode = 2;
} else {
  const chosen = positionals.length === 0 ? MUTANTS : positionals.map(findMutant);
  if (values.list) for (const one of chosen) say(`${one.name}\t${one.caughtBy}\t${one.what}`);
  else process.exitCode = await run(chosen);
}
