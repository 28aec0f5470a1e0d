import type { Clock } from "../ports/clock.ts";

const PAUSE_MS = 20;

/** Resolves when the check holds, or when the time is over. */
export async function until(check: () => boolean, withinMs: number, clock: Clock): Promise<void> {
  const endMs = clock.nowMs() + withinMs;
  while (!check() && clock.nowMs() < endMs) {
    await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
  }
}
