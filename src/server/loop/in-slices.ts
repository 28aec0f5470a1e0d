/**
 * Schedules work in slices for all callers. Each turn of the event loop runs one slice, so that a
 * crowd of callers delays others no more than one caller does. Short work goes first: every other
 * turn goes to the work that has had the fewest slices, the turns between to the work that has
 * waited longest, so that long work makes progress too.
 */
export class Turns {
  readonly #soon: (run: () => void) => void;
  readonly #waiting: { readonly slices: number; readonly start: () => void }[] = [];
  #isScheduled = false;
  #isShortTurn = false;

  constructor(soon: (run: () => void) => void) {
    this.#soon = soon;
  }

  /** Resolves at the next turn for work that has had so many slices. */
  next(slices: number): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push({ slices, start });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#soon(() => {
      this.#isScheduled = false;
      this.#waiting.splice(this.#pick(), 1)[0]?.start();
      this.#schedule();
    });
  }

  #pick(): number {
    this.#isShortTurn = !this.#isShortTurn;
    if (!this.#isShortTurn) return 0;
    let least = 0;
    for (let at = 1; at < this.#waiting.length; at++) {
      if ((this.#waiting[at]?.slices ?? 0) < (this.#waiting[least]?.slices ?? 0)) least = at;
    }
    return least;
  }
}

/** The turns of the deciding thread. */
export const turns = new Turns(setImmediate);

/**
 * Runs a generator to its end; other work of this thread has its turn at each `yield`. The first
 * slice runs at once: most work has no other.
 */
export async function inSlices<Result>(
  work: Generator<undefined, Result>,
  own: Turns = turns,
): Promise<Result> {
  for (let slices = 1; ; slices++) {
    const slice = work.next();
    if (slice.done === true) return slice.value;
    await own.next(slices);
  }
}
