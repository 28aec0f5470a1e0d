import { invariant } from "../../src/lib/invariant.ts";

/** The value below which this share of all lies; nearest rank, so that it is an observed one. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  invariant(value !== undefined, "there is something to measure");
  return value;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Three significant digits at least, thousands set apart: 20,312 / 12.5 / 0.0312. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Polls until the answer is true; bounded, so that a hung server ends the bench. */
export async function waitUntil(
  what: string,
  ask: () => Promise<boolean>,
  { everyMs, timeoutMs }: { readonly everyMs: number; readonly timeoutMs: number },
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await ask())) {
    if (performance.now() > endMs) throw new Error(`${what} took more than ${timeoutMs} ms`);
    await sleep(everyMs);
  }
}
