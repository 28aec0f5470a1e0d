import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunId, RunReport } from "../../ports/executor.ts";

export interface Reported {
  readonly id: RunId;
  readonly report: RunReport;
}

/** A held run that the agent returns to the server. */
export interface GivenBack {
  readonly id: RunId;
  readonly report: { readonly kind: "returned"; readonly heldAtMs: number };
}

/** A message to the server about a run. */
export type Outgoing = (Reported & { readonly began?: RunId | undefined }) | GivenBack;

export interface OutboxOptions {
  readonly clock: Clock;
  send(seq: number, events: readonly Outgoing[]): void;
  onAcknowledged(events: readonly Outgoing[]): void;
}

/**
 * The reports of one session. An end goes at once; while a batch is on its way the outbox collects later events for a moment, so that a
 * busier agent sends fewer messages per event. A start always waits a little: only the latest report of a run is sent, and the end of a
 * short run includes its start, which saves a message and a commit each. The end of a run whose slot went to a held one waits too: no slot
 * is idle meanwhile. Nothing is dropped before its Ack.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #begun = new Map<string, Outgoing>();
  readonly #waiting = new Map<string, Outgoing>();
  #inFlight: { readonly seq: number; readonly events: readonly Outgoing[] }[] = [];
  #lastSeq = 0;
  #timer: (() => void) | undefined;
  #cancelBegun: (() => void) | undefined;
  /** False: all waiting events belong to runs whose slots already have another run. */
  #isUrgent = false;
  #isDue = false;
  #isClosed = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  push(key: string, reported: Outgoing): void {
    if (reported.report.kind === "running") {
      this.#begun.set(key, reported);
      this.#cancelBegun ??= this.#options.clock.after(limits.startReportDelayMs, () =>
        this.#tellBegun(),
      );
    } else {
      this.#begun.delete(key);
      this.#waiting.set(key, reported);
      const hasSuccessor = "began" in reported && reported.began !== undefined;
      if (!hasSuccessor) this.#hurry();
      this.#schedule();
    }
  }

  /** Acks are cumulative: the server stores in order. */
  acknowledge(seq: number): void {
    if (seq > this.#lastSeq) {
      throw invalid("ack.seq", `${seq} was never sent; the last was ${this.#lastSeq}`);
    }
    const done = this.#inFlight.filter((batch) => batch.seq <= seq);
    this.#inFlight = this.#inFlight.filter((batch) => batch.seq > seq);
    for (const { events } of done) this.#options.onAcknowledged(events);
    if (this.#inFlight.length === 0 && this.#isUrgent) this.#cancelTimer();
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
    this.#cancelBegun?.();
  }

  #tellBegun(): void {
    this.#cancelBegun = undefined;
    for (const [key, reported] of this.#begun) this.#waiting.set(key, reported);
    this.#begun.clear();
    this.#hurry();
    this.#schedule();
  }

  #schedule(): void {
    const isFull = this.#inFlight.length >= limits.unacknowledgedReportsMax;
    if (this.#waiting.size === 0 || isFull || this.#isDue || this.#timer !== undefined) return;
    if (!this.#isUrgent || this.#inFlight.length > 0) {
      const delayMs = this.#isUrgent ? limits.reportCoalesceMs : limits.reportOfReplacedMs;
      this.#timer = this.#options.clock.after(delayMs, () => this.#flush());
    } else {
      this.#isDue = true;
      queueMicrotask(() => this.#flush()); // events of one turn travel together
    }
  }

  #flush(): void {
    this.#isDue = false;
    this.#cancelTimer();
    if (this.#isClosed) return;
    const events: Outgoing[] = [];
    for (const [key, reported] of this.#waiting) {
      if (events.length >= limits.reportEventsPerMessageMax) break;
      events.push(reported);
      this.#waiting.delete(key);
    }
    if (events.length === 0) return;
    this.#isUrgent = this.#waiting.size > 0;
    this.#lastSeq += 1;
    this.#inFlight.push({ seq: this.#lastSeq, events });
    this.#options.send(this.#lastSeq, events);
    this.#schedule();
  }

  /** An event waits whose slot is free. */
  #hurry(): void {
    if (this.#isUrgent) return;
    this.#isUrgent = true;
    this.#cancelTimer();
  }

  #cancelTimer(): void {
    this.#timer?.();
    this.#timer = undefined;
  }
}
