import { createLinkWindow, partBytesOf } from "../../core/model/node/link-window.ts";
import type { Parts } from "../../gen/busbar/v1/agent_pb.ts";
import type { BulkWindow } from "../../lib/collections/bulk-window.ts";
import { commonEncoding, type Encoding, pack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";

interface Waiting {
  /** Sends a part, and returns its bytes. */
  readonly act: () => number;
  readonly done: () => void;
}

export interface PackedPart {
  readonly data: Uint8Array;
  readonly encoding: Encoding | "";
}

const SLICE_MS = 250; // of the bandwidth in one part
const WORTH_IT = 0.9; // packed bytes per byte; above this the part goes uncompressed

/**
 * Sends outputs to the server: after everything else, with no more bytes under way than the link carries in a moment, and with its own
 * bandwidth limit. Parts take turns in order of arrival, so that readers share the link.
 */
export class OutputLane {
  readonly #clock: Clock;
  readonly #sendMark: (number: number) => void;
  readonly #bytesPerSecond: number;
  readonly #waiting: Waiting[] = [];
  #window: BulkWindow | undefined;
  #encoding: Encoding | undefined;
  /** Bytes of output per sent byte, lately. */
  #ratio = 1;
  /** When the bandwidth allows the next part. */
  #freeAtMs = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, bytesPerSecond: number, sendMark: (number: number) => void) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
    this.#sendMark = sendMark;
  }

  /** The settings from Welcome. An older server gets no marks, and one chunk for each request. */
  open(parts: Parts | undefined): void {
    if (parts === undefined) return;
    this.#window = createLinkWindow();
    this.#encoding = commonEncoding(parts.encodings);
  }

  get takesParts(): boolean {
    return this.#window !== undefined;
  }

  /** Bytes of output in one part. */
  get partBytes(): number {
    const wire =
      this.#window === undefined ? limits.outputChunkBytesMax : partBytesOf(this.#window);
    const slice = Math.max(limits.bandwidthBytesMin, (this.#bytesPerSecond * SLICE_MS) / 1_000);
    return Math.min(limits.outputChunkBytesMax, Math.floor(Math.min(wire, slice) * this.#ratio));
  }

  pack(data: Uint8Array): PackedPart {
    const isThin = this.#window?.isThin === true || this.#bytesPerSecond < Infinity;
    if (this.#encoding === undefined || !isThin || data.length === 0) return { data, encoding: "" };
    const packed = pack(this.#encoding, data);
    const ratio = data.length / packed.length;
    this.#ratio = Math.max(1, this.#ratio * 0.75 + ratio * 0.25);
    if (packed.length > data.length * WORTH_IT) return { data, encoding: "" };
    return { data: packed, encoding: this.#encoding };
  }

  /** Calls `act` to send its part when the window allows it; resolves when that is done, or never will be. */
  whenRoom(act: () => number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ act, done: resolve });
      this.#sendWhileRoom();
    });
  }

  markReturned(number: number): void {
    this.#window?.returned(number, steadyMs(this.#clock));
    this.#sendWhileRoom();
  }

  close(): void {
    this.#cancelTimer?.();
    for (const { done } of this.#waiting.splice(0)) done();
  }

  #sendWhileRoom(): void {
    while (this.#waiting.length > 0 && this.#window?.hasRoom !== false) {
      const nowMs = steadyMs(this.#clock);
      if (this.#freeAtMs > nowMs) return this.#wakeIn(this.#freeAtMs - nowMs);
      const next = this.#waiting.shift();
      const bytes = next?.act() ?? 0;
      this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + (bytes / this.#bytesPerSecond) * 1_000;
      const mark = this.#window?.sent(bytes, nowMs);
      if (mark !== undefined) this.#sendMark(mark);
      next?.done();
    }
  }

  #wakeIn(delayMs: number): void {
    this.#cancelTimer ??= this.#clock.after(delayMs, () => {
      this.#cancelTimer = undefined;
      this.#sendWhileRoom();
    });
  }
}
