import { Heap } from "../../src/lib/collections/heap.ts";
import type { Clock } from "../../src/ports/clock.ts";

interface Event {
  readonly atMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

const START_MS = 1_700_000_000_000;

/**
 * Resolves when every ready promise has run. Node runs the next tick only after all microtasks, including those queued meanwhile, so this
 * waits for exactly what is needed, however long the chain; it takes no turn of the real event loop, so nothing real can come between.
 */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** Virtual time. Events happen one at a time, by time and then in the order of their requests. */
export class Timeline {
  #nowMs = START_MS;
  #order = 0;
  events = 0;
  readonly #heap = new Heap<Event>(
    (a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order),
  );
  /** Called when an event and all its consequences are done; may throw to end the run. */
  afterEach: () => void = () => undefined;

  get nowMs(): number {
    return this.#nowMs;
  }

  get elapsedMs(): number {
    return this.#nowMs - START_MS;
  }

  after(delayMs: number, run: () => void): () => void {
    const event: Event = {
      atMs: this.#nowMs + Math.max(0, Math.round(delayMs)),
      order: this.#order++,
      run,
    };
    this.#heap.push(event);
    return () => (event.run = undefined);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.after(delayMs, resolve));
  }

  /** Lets everything happen that is due within `ms`, or until `isDone`. */
  async pass(ms: number, isDone: () => boolean = () => false): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    while (!isDone()) {
      const next = this.#heap.peek();
      if (next === undefined || next.atMs > untilMs) {
        this.#nowMs = untilMs;
        return;
      }
      this.#heap.pop();
      if (next.run === undefined) continue;
      this.#nowMs = next.atMs;
      this.events++;
      next.run();
      await settled();
      this.afterEach();
    }
  }
}

/**
 * The clock of one process. When the process dies, so do its timers; their actions never happen. Machines' clocks differ: `skewMs` is the
 * error of this one.
 */
export class ProcessClock implements Clock {
  readonly #timeline: Timeline;
  readonly #skewMs: number;
  #isAlive = true;

  constructor(timeline: Timeline, skewMs = 0) {
    this.#timeline = timeline;
    this.#skewMs = skewMs;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  nowMs(): number {
    return this.#timeline.nowMs + this.#skewMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    return this.#timeline.after(delayMs, () => {
      if (this.#isAlive) wake();
    });
  }

  kill(): void {
    this.#isAlive = false;
  }
}
