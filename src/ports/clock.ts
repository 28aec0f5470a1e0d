/** The clock is injected: the core never reads the time itself, and simulations replace the clock. */
export interface Clock {
  /** Milliseconds since 1970. Jumps when somebody sets the system's clock. */
  nowMs(): number;
  /** Calls `wake` once, after at least `delayMs`. The returned function cancels it. */
  after(delayMs: number, wake: () => void): () => void;
  /** Milliseconds of a monotonic clock. Absent: `nowMs` is monotonic too. */
  steadyMs?(): number;
}

export const steadyMs = (clock: Clock): number => clock.steadyMs?.() ?? clock.nowMs();
