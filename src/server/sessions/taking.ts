import type { TakeCapacity } from "../../core/model/node/take-capacity.ts";

/** The capacity that the agent of a cluster reports, after it had seen so many starts. */
export interface TakeOffer {
  readonly seen: number;
  readonly room: TakeCapacity;
}

/**
 * How the agent of a cluster accepts tasks, one round at a time:
 *
 *   idle --begin--> taking --begin--> asked-again
 *    ^                |                    |
 *    +------end-------+--------end---------+
 */
type Round = "idle" | "taking" | "asked-again";

export class Taking {
  #round: Round = "idle";
  #offer: TakeOffer | undefined;
  #startsGiven = 0;

  /** The agent reports how much it would accept; this replaces its earlier report. */
  offer(offer: TakeOffer): void {
    this.#offer = offer;
  }

  /** The server sends so many starts to the agent. */
  given(count: number): void {
    this.#startsGiven += count;
  }

  /** Begins a round with the capacity that the agent reported; undefined: none, or a round is under way. */
  begin(): TakeOffer | undefined {
    if (this.#round !== "idle") {
      this.#round = "asked-again";
      return undefined;
    }
    const offer = this.#offer;
    if (offer === undefined || offer.room.tasks === 0) return undefined;
    // The report is older than the agent's last starts: another one follows.
    if (offer.seen !== this.#startsGiven) return undefined;
    this.#round = "taking";
    return offer;
  }

  /** Ends a round: so many tasks were accepted and so much capacity is left. Returns whether there may be more. */
  end(offer: TakeOffer, taken: number, left: TakeCapacity): boolean {
    const wasAskedAgain = this.#round === "asked-again";
    this.#round = "idle";
    this.given(taken);
    if (this.#offer !== offer) return true; // the agent sent a new report meanwhile
    this.#offer = { room: left, seen: offer.seen + taken };
    return taken > 0 || wasAskedAgain;
  }

  /** The round has failed. */
  fail(): void {
    this.#round = "idle";
  }
}
