import { loadavg } from "node:os";
import { describeChain } from "../../src/lib/errors.ts";
import type { Bench, Case, Measure } from "./part.ts";
import { type Profiling, Site } from "./site.ts";

/** The outcome of one case. A failed case has no measures, and the others continue. */
export interface Result {
  readonly id: string;
  readonly what: string;
  readonly seconds: number;
  /** The load of the last minute: the machine's other work. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  readonly tasks: number;
  readonly measures: readonly Measure[];
  readonly failure?: string;
}

export interface RunOptions {
  readonly isQuick: boolean;
  readonly profiling?: Profiling;
}

const open = new Set<Site>();

/** Ctrl-C ends the started processes and removes the written files. */
export function cleanUpOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      for (const site of open) site.abandon();
      process.exit(130);
    });
  }
}

export async function runCase(one: Case, { isQuick, profiling }: RunOptions): Promise<Result> {
  const sites: Site[] = [];
  let tasks = 0;
  const bench: Bench = {
    isQuick,
    count: (full) => (isQuick ? Math.max(1, Math.round(full / 10)) : full),
    openSite: () => {
      const site = new Site(profiling);
      sites.push(site);
      open.add(site);
      return site;
    },
    progress: (text) => process.stderr.write(`  ${text}\n`),
    worked: (count) => {
      tasks += count;
    },
  };
  process.stderr.write(`${one.id}: ${one.what}\n`);
  const loadBefore = loadavg()[0] ?? 0;
  const beginMs = performance.now();
  let outcome: Pick<Result, "measures" | "failure">;
  try {
    outcome = { measures: await one.run(bench) };
  } catch (error) {
    outcome = { measures: [], failure: describeChain(error) };
  }
  for (const site of sites) {
    await site.close();
    open.delete(site);
  }
  const seconds = (performance.now() - beginMs) / 1_000;
  const loadAfter = loadavg()[0] ?? 0;
  const { id, what } = one;
  return { id, what, seconds, loadBefore, loadAfter, tasks, ...outcome };
}
