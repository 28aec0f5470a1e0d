import type { Seeded } from "./random.ts";
import type { Timeline } from "./timeline.ts";

/**
 * One direction of a connection, as TCP gives it: everything arrives in order, after any time, or
 * the rest does not arrive at all.
 */
export class Pipe {
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  readonly #bytesPerMs: number;
  #arrivesAtMs = 0;
  #isCut = false;

  /** A rate of Infinity: bytes take no time. */
  constructor(timeline: Timeline, random: Seeded, bytesPerMs = Infinity) {
    this.#timeline = timeline;
    this.#random = random;
    this.#bytesPerMs = bytesPerMs;
  }

  get isThin(): boolean {
    return this.#bytesPerMs < Infinity;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** Calls `arrive` after what was sent before has arrived. */
  send(arrive: () => void, bytes = 0): void {
    if (this.#isCut) return;
    const { nowMs } = this.#timeline;
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, nowMs + this.#random.delayMs(3, 60));
    this.#arrivesAtMs += Math.ceil(bytes / this.#bytesPerMs);
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
