import type { Clock } from "../ports/clock.ts";

const PAUSE_MS = 20;

/** Resolves when the check returns true, or at the timeout. */
export async function until(check: () => boolean, withinMs: number, clock: Clock): Promise<void> {
  const endMs = clock.nowMs() + withinMs;
  while (!check() && clock.nowMs() < endMs) {
    await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
  }
}
