/** Runs sliced work to its end at once, where no other work waits. */
export function runToEnd<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
  }
}
