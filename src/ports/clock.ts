/** Time, injected: the core never reads it, and simulations replace it. */
export interface Clock {
  /** Milliseconds since 1970. May jump when the system's clock is set. */
  nowMs(): number;
  /** Calls `wake` once, after at least `delayMs`. The returned function cancels it. */
  after(delayMs: number, wake: () => void): () => void;
  /** Milliseconds since some moment, by a clock that nobody sets. Absent: nobody sets `nowMs` either. */
  steadyMs?(): number;
}

export const steadyMs = (clock: Clock): number => clock.steadyMs?.() ?? clock.nowMs();
