/** Runs a generator to its end; other work of this thread has its turn at each `yield`. */
export async function inSlices<Result>(slices: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    const slice = slices.next();
    if (slice.done === true) return slice.value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
