import type { Seeded } from "./random.ts";
import type { Timeline } from "./timeline.ts";

/** One direction of a connection, like TCP: everything arrives in order, after any time, or the rest does not arrive at all. */
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

  /** Calls `arrive` after all earlier messages have arrived. */
  send(arrive: () => void, bytes = 0): void {
    if (this.#isCut) return;
    const { nowMs } = this.#timeline;
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, nowMs + this.#random.delayMs(3, 60));
    this.#arrivesAtMs += Math.ceil(bytes / this.#bytesPerMs);
    this.#timeline.after(this.#arrivesAtMs - nowMs, () => {
      if (!this.#isCut) arrive();
    });
  }

  /** Later messages arrive no earlier than after `ms`: packets are lost and resent. */
  stall(ms: number): void {
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, this.#timeline.nowMs + ms);
  }

  /** Nothing arrives any more, including messages on their way. */
  cut(): void {
    this.#isCut = true;
  }
}
