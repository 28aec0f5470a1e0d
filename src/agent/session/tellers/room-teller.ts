import type { TakeCapacity } from "../../../core/model/node/take-capacity.ts";
import { TAKES_NOTHING } from "../../../core/model/node/take-capacity.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";

export interface RoomTellerOptions {
  readonly clock: Clock;
  /** The capacity that the agent would accept now; undefined: it is not the agent of a cluster. */
  readonly room: (() => TakeCapacity) | undefined;
  /** Whether starts wait, which will use some of it. */
  readonly isBusy: () => boolean;
  send(take: TakeCapacity & { readonly seen: number }): void;
}

/** Sends the server the capacity that the agent of a cluster would accept, soon after it changes. */
export class RoomTeller {
  readonly #options: RoomTellerOptions;
  /** The capacity last sent; undefined: the server has used some of it since. */
  #sent: TakeCapacity | undefined = TAKES_NOTHING;
  /** The number in this session: the server compares it with the number of starts it has sent. */
  #startsSeen = 0;
  #cancel: (() => void) | undefined;

  constructor(options: RoomTellerOptions) {
    this.#options = options;
  }

  tellSoon(): void {
    const { clock, room, isBusy } = this.#options;
    if (room === undefined) return;
    this.#cancel ??= clock.after(limits.reportCoalesceMs, () => {
      this.#cancel = undefined;
      if (isBusy()) this.tellSoon();
      else this.#tell(room());
    });
  }

  /** Starts have arrived, and use the capacity last sent. */
  used(starts: number): void {
    if (starts === 0) return;
    this.#startsSeen += starts;
    this.#sent = undefined;
    this.tellSoon();
  }

  close(): void {
    this.#cancel?.();
  }

  #tell(room: TakeCapacity): void {
    if (isDeepEqual(room, this.#sent)) return;
    this.#sent = room;
    this.#options.send({ ...room, seen: this.#startsSeen });
  }
}
