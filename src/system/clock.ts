import type { Clock } from "../ports/clock.ts";

/** For longer delays setTimeout fires at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1;

export function createSystemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    steadyMs: () => performance.now(),
    after(delayMs, wake) {
      let timer: NodeJS.Timeout;
      const arm = (leftMs: number): void => {
        const stepMs = Math.min(leftMs, TIMEOUT_MS_MAX);
        timer = setTimeout(() => (leftMs > stepMs ? arm(leftMs - stepMs) : wake()), stepMs);
      };
      arm(Math.max(0, delayMs));
      return () => clearTimeout(timer);
    },
  };
}
