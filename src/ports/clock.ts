/** Time, injected: the core never reads it, and simulations replace it. */
export interface Clock {
  /** Milliseconds since 1970. May jump when the system's clock is set. */
  nowMs(): number;
  /** Calls `wake` once, after at least `delayMs`. The returned function cancels it. */
  after(delayMs: number, wake: () => void): () => void;
}
