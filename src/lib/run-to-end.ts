/** Runs work that comes in slices in one go, where nobody else waits. */
export function runToEnd<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}
