import type { LinkTimes } from "../../core/model/node/heartbeat.ts";
import { limits } from "../../limits.ts";

// The thread wakes up once for many heartbeats. The benefit has not been measured yet.
const TURN_MS = 250;

/**
 * Spreads the heartbeats of all agents over time, so that many idle agents cost the server little
 * and never answer all at once: each takes the next free slot. With few agents that slot is one
 * short interval away; with many it is further ahead, up to the longest interval. Agents
 * whose slots are close to each other share a turn.
 */
export class HeartbeatSchedule {
  #lastSlotMs = 0;
  readonly #leastMs: number;
  readonly #mostMs: number;

  constructor({ heartbeatMs = limits.heartbeatIntervalMs, silenceMs }: LinkTimes = {}) {
    this.#leastMs = heartbeatMs;
    const bound = silenceMs && Math.floor(silenceMs / limits.heartbeatsPerSilenceMin);
    this.#mostMs = Math.max(
      heartbeatMs,
      Math.min(bound ?? limits.heartbeatIntervalMsMax, limits.heartbeatIntervalMsMax),
    );
  }

  /** The interval until the next heartbeat of an agent whose last one came at `nowMs`. */
  next(nowMs: number): number {
    const slotMs = this.#lastSlotMs + 1_000 / limits.heartbeatsPerSecondMax;
    const earliestMs = nowMs + this.#leastMs;
    const latestMs = nowMs + this.#mostMs;
    this.#lastSlotMs = Math.min(Math.max(slotMs, earliestMs), latestMs);
    const turnMs = Math.floor(this.#lastSlotMs / TURN_MS) * TURN_MS - Math.floor(nowMs);
    return Math.max(turnMs, Math.min(this.#leastMs, TURN_MS));
  }
}
