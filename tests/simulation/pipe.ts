import type { Seeded } from "./random.ts";
import type { Timeline } from "./timeline.ts";

/**
 * One direction of a connection, as TCP gives it: everything arrives in order, after any time, or
 * the rest does not arrive at all.
 */
export class Pipe {
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  #arrivesAtMs = 0;
  #isCut = false;

  constructor(timeline: Timeline, random: Seeded) {
    this.#timeline = timeline;
    this.#random = random;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** Calls `arrive` after what was sent before has arrived. */
  send(arrive: () => void): void {
    if (this.#isCut) return;
    const { nowMs } = this.#timeline;
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, nowMs + this.#random.delayMs(3, 60));
    this.#timeline.after(this.#arrivesAtMs - nowMs, () => {
      if (!this.#isCut) arrive();
    });
  }

  /** What is sent from now on arrives no earlier than after `ms`: packets are lost and sent again. */
  stall(ms: number): void {
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, this.#timeline.nowMs + ms);
  }

  /** Nothing arrives any more, what is on its way included. */
  cut(): void {
    this.#isCut = true;
  }
}
