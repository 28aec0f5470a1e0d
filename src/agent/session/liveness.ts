import type { LinkTimes } from "../../core/model/node/heartbeat.ts";
import { silenceMsMax } from "../../core/model/node/heartbeat.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Checks that both ends of a link are alive. It calls `beat` when this end sent nothing, or received nothing, for the interval; `silent`
 * once, when it received nothing for too long. A busy link needs no heartbeats.
 *
 * Bytes are a sign of life too: on a thin link a message may take longer than the longest silence.
 */
export class Liveness {
  readonly #clock: Clock;
  readonly #beat: () => void;
  readonly #silent: () => void;
  readonly #bytesReceived: () => number;
  /** At the last check. */
  #bytesSeen = 0;
  #intervalMs = 0;
  #intervalMsMax: number = limits.heartbeatIntervalMsMax;
  #times: LinkTimes = {};
  #sentMs = 0;
  #heardMs = 0;
  #cancelBeat: (() => void) | undefined;
  #cancelSilence: (() => void) | undefined;

  constructor(
    clock: Clock,
    on: {
      readonly beat: () => void;
      readonly silent: () => void;
      /** Absent: only messages count. */
      readonly bytesReceived?: () => number;
    },
  ) {
    this.#clock = clock;
    this.#bytesReceived = on.bytesReceived ?? ((): number => 0);
    this.#beat = on.beat;
    this.#silent = on.silent;
  }

  /** Takes effect from now on. Shortens an interval that is too long: the server would give this agent up. */
  setInterval(intervalMs: number): void {
    this.#intervalMs = Math.min(intervalMs, this.#intervalMsMax);
    this.heard();
    this.#beatIn(this.#intervalMs);
  }

  /** The server knows the same times; absent ones follow from the interval. */
  setTimes({ heartbeatMs = 0, silenceMs }: LinkTimes): void {
    this.#intervalMsMax = Math.max(limits.heartbeatIntervalMsMax, heartbeatMs);
    this.#times = { silenceMs };
  }

  sent(): void {
    this.#sentMs = this.#clock.nowMs();
  }

  heard(): void {
    this.#heardMs = this.#clock.nowMs();
    this.#hasReceived();
    this.#awaitSign();
  }

  stop(): void {
    this.#cancelBeat?.();
    this.#cancelSilence?.();
  }

  #awaitSign(): void {
    this.#cancelSilence?.();
    this.#cancelSilence = this.#clock.after(silenceMsMax(this.#intervalMs, this.#times), () => {
      if (this.#hasReceived()) return this.#awaitSign();
      // This process itself may not have run: it first reads the messages that arrived meanwhile.
      this.#cancelSilence = this.#clock.after(limits.silenceConfirmMs, () =>
        this.#hasReceived() ? this.#awaitSign() : this.#silent(),
      );
    });
  }

  /** Whether bytes have arrived since the last check. */
  #hasReceived(): boolean {
    const bytes = this.#bytesReceived();
    const hasMore = bytes !== this.#bytesSeen;
    this.#bytesSeen = bytes;
    return hasMore;
  }

  #beatIn(delayMs: number): void {
    this.#cancelBeat?.();
    this.#cancelBeat = this.#clock.after(delayMs, () => {
      if (this.#hasReceived()) this.#awaitSign();
      const dueMs = Math.min(this.#sentMs, this.#heardMs) + this.#intervalMs;
      const leftMs = dueMs - this.#clock.nowMs();
      if (leftMs <= 0) this.#beat();
      // The clock may have been set back.
      this.#beatIn(leftMs <= 0 ? this.#intervalMs : Math.min(leftMs, this.#intervalMs));
    });
  }
}
