import type { Socket } from "node:net";

/** About one packet: connections take turns on the link at this size. */
const PIECE_BYTES = 1_400;
/** Timers are no more precise than this; all bytes that fit into it go in one burst. */
const BURST_MS = 4;

interface Flow {
  readonly from: Socket;
  readonly to: Socket;
  hasEnded: boolean;
}

interface Arrival {
  readonly atMs: number;
  readonly act: () => void;
}

/** One direction of a link, shared by all its connections: bytes go one piece after another. */
export class OneWay {
  carriedBytes = 0;
  #delayMs = 0;
  #bytesPerSecond = Infinity;
  #isPaused = false;
  /** In the order of their turns. */
  readonly #flows = new Set<Flow>();
  /** On the link, in order. */
  readonly #arrivals: Arrival[] = [];
  /** The time when the last piece has left. */
  #freeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  set(settings: {
    readonly delayMs?: number | undefined;
    readonly bytesPerSecond?: number | undefined;
  }): void {
    this.#delayMs = settings.delayMs ?? this.#delayMs;
    this.#bytesPerSecond = settings.bytesPerSecond ?? this.#bytesPerSecond;
    this.#freeAtMs = 0;
    this.#pump();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#pump();
  }

  join(from: Socket, to: Socket): void {
    const flow = { from, to, hasEnded: false };
    this.#flows.add(flow);
    from.on("readable", () => this.#pump());
    from.once("end", () => {
      flow.hasEnded = true;
      this.#pump();
    });
    to.on("drain", () => this.#pump());
    from.once("close", () => this.#flows.delete(flow));
  }

  close(): void {
    this.#isPaused = true;
    clearTimeout(this.#timer);
    this.#flows.clear();
    this.#arrivals.length = 0;
  }

  #pump(): void {
    if (this.#isPaused) return;
    const nowMs = performance.now();
    this.#deliver(nowMs);
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs);
    let isIdle = false;
    while (!isIdle && this.#freeAtMs - nowMs <= BURST_MS) isIdle = !this.#carryPiece();
    const due = [this.#arrivals[0]?.atMs ?? Infinity, isIdle ? Infinity : this.#freeAtMs];
    clearTimeout(this.#timer);
    const inMs = Math.min(...due) - nowMs;
    if (inMs < Infinity) this.#timer = setTimeout(() => this.#pump(), inMs);
  }

  #deliver(nowMs: number): void {
    const isDue = ({ atMs }: Arrival): boolean => atMs <= nowMs + 0.5;
    while (this.#arrivals[0] !== undefined && isDue(this.#arrivals[0]))
      this.#arrivals.shift()?.act();
  }

  /** Sends a piece of the connection whose turn it is; its next turn comes after all others. False: there is none. */
  #carryPiece(): boolean {
    for (const flow of this.#flows) {
      const { from, to } = flow;
      if (to.writableNeedDrain) continue;
      const size = Math.min(from.readableLength, PIECE_BYTES);
      const bytes = size === 0 ? null : (from.read(size) as Buffer | null);
      if (bytes === null) {
        if (flow.hasEnded) this.#end(flow);
        else from.read(0); // asks the kernel for more
        continue;
      }
      this.#flows.delete(flow);
      this.#flows.add(flow);
      this.#freeAtMs += (bytes.length / this.#bytesPerSecond) * 1_000;
      this.carriedBytes += bytes.length;
      this.#arrive(() => to.write(bytes));
      return true;
    }
    return false;
  }

  #end(flow: Flow): void {
    this.#flows.delete(flow);
    this.#arrive(() => flow.to.end());
  }

  /** After everything carried before, even when the delay has become shorter. */
  #arrive(act: () => void): void {
    const beforeMs = this.#arrivals.at(-1)?.atMs ?? 0;
    this.#arrivals.push({ atMs: Math.max(this.#freeAtMs + this.#delayMs, beforeMs), act });
  }
}
