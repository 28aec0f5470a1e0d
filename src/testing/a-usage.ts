import type { Usage } from "../core/model/job/usage.ts";

/** The reported usage of a run: sometimes absent, sometimes partial, sometimes too large for a column. */
export function aUsage(job: number, index: number, attempt: number): Usage | undefined {
  const seed = job * 31 + index * 7 + attempt;
  const all = {
    cpuUs: seed * 1_001,
    wallUs: seed * 2_003,
    maxRssKib: 1_000 + seed,
    majorFaults: seed % 3,
  };
  const variants: readonly (Usage | undefined)[] = [
    all,
    undefined,
    { cpuUs: all.cpuUs },
    job % 2 === 0 ? { ...all, majorFaults: 0xffff_ffff + seed } : all,
    { wallUs: all.wallUs, maxRssKib: all.maxRssKib },
    { cpuUs: job % 2 === 0 ? 2 ** 32 + seed : 0, wallUs: (2 ** 22 + seed) * 1_000 },
  ];
  return variants[seed % variants.length];
}
