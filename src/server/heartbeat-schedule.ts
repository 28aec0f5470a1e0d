import { limits } from "../limits.ts";

// So that the thread wakes up once for many heartbeats. What that saves has not been measured yet.
const TURN_MS = 250;

/**
 * Spreads the heartbeats of all agents over time, so that many idle agents cost the server little
 * and never answer all at once: each takes the next free slot. While there are few, that is one
 * short interval away; with many the slots are taken further ahead, up to the longest interval. Those
 * whose slots are close to each other take turns together.
 */
export class HeartbeatSchedule {
  #lastSlotMs = 0;

  /** The interval until the next heartbeat of an agent whose last one came at `nowMs`. */
  next(nowMs: number): number {
    const slotMs = this.#lastSlotMs + 1_000 / limits.heartbeatsPerSecondMax;
    const earliestMs = nowMs + limits.heartbeatIntervalMs;
    const latestMs = nowMs + limits.heartbeatIntervalMsMax;
    this.#lastSlotMs = Math.min(Math.max(slotMs, earliestMs), latestMs);
    return Math.floor(this.#lastSlotMs / TURN_MS) * TURN_MS - Math.floor(nowMs);
  }
}
