/**
 * Counts durations in buckets. An observation costs a short loop over numbers and no allocation, so that the deciding thread can afford one
 * for every task.
 */
export class Histogram {
  /** Upper bounds of the buckets in milliseconds, ascending. */
  readonly boundsMs: readonly number[];
  /** The count of each bucket alone; the last one counts durations beyond every bound. */
  readonly counts: Float64Array;
  sumMs = 0;

  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs;
    this.counts = new Float64Array(boundsMs.length + 1);
  }

  /** A clock that was set back would give negative times. */
  observe(ms: number): void {
    const { boundsMs, counts } = this;
    let at = 0;
    while (at < boundsMs.length && ms > (boundsMs[at] as number)) at++;
    counts[at] = (counts[at] as number) + 1;
    this.sumMs += Math.max(0, ms);
  }

  /**
   * An estimate of the duration that this part of all observations does not exceed: 0.99 for 99 of 100. As in Prometheus, observations are
   * assumed to be spread evenly over their bucket; those beyond every bound count as the last bound.
   */
  quantileMs(part: number): number {
    const { boundsMs, counts } = this;
    const wanted = part * counts.reduce((sum, count) => sum + count, 0);
    let below = 0;
    for (const [at, boundMs] of boundsMs.entries()) {
      const count = counts[at] as number;
      if (count > 0 && below + count >= wanted) {
        const fromMs = boundsMs[at - 1] ?? 0;
        return fromMs + ((boundMs - fromMs) * (wanted - below)) / count;
      }
      below += count;
    }
    return below === 0 && counts.at(-1) === 0 ? 0 : (boundsMs.at(-1) ?? 0);
  }
}
