import type { TakeCapacity } from "../../../core/model/node/take-capacity.ts";
import { TAKES_NOTHING } from "../../../core/model/node/take-capacity.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";

export interface RoomTellerOptions {
  readonly clock: Clock;
  /** What would be taken now; undefined: the agent does not speak for a cluster. */
  readonly room: (() => TakeCapacity) | undefined;
  /** Whether work waits to be started, which takes some of it. */
  readonly isBusy: () => boolean;
  send(take: TakeCapacity & { readonly seen: number }): void;
}

/** Tells the server what an agent of a cluster would take, soon after it is not what was told. */
export class RoomTeller {
  readonly #options: RoomTellerOptions;
  /** What the server was told; undefined: it has used some of that since. */
  #told: TakeCapacity | undefined = TAKES_NOTHING;
  /** Of this session: the server compares it with what it has sent. */
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

  /** Starts have come, and use what was told. */
  used(starts: number): void {
    if (starts === 0) return;
    this.#startsSeen += starts;
    this.#told = undefined;
    this.tellSoon();
  }

  close(): void {
    this.#cancel?.();
  }

  #tell(room: TakeCapacity): void {
    if (isDeepEqual(room, this.#told)) return;
    this.#told = room;
    this.#options.send({ ...room, seen: this.#startsSeen });
  }
}
