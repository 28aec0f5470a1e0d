import type { TakeCapacity } from "../../core/model/node/take-capacity.ts";

/** What the agent of a cluster would take, when it had seen so many starts. */
export interface TakeOffer {
  readonly seen: number;
  readonly room: TakeCapacity;
}

/**
 * How the agent of a cluster takes tasks, one round at a time:
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

  /** The agent says what it would take; that replaces what it said before. */
  offer(offer: TakeOffer): void {
    this.#offer = offer;
  }

  /** So many starts are sent to the agent. */
  given(count: number): void {
    this.#startsGiven += count;
  }

  /** Begins a round with what the agent would take; undefined: nothing, or a round goes on. */
  begin(): TakeOffer | undefined {
    if (this.#round !== "idle") {
      this.#round = "asked-again";
      return undefined;
    }
    const offer = this.#offer;
    if (offer === undefined || offer.room.tasks === 0) return undefined;
    // It said so before it got its last starts: another offer follows.
    if (offer.seen !== this.#startsGiven) return undefined;
    this.#round = "taking";
    return offer;
  }

  /** Of what it offered in this round, so many were taken and so much room is left. Whether there may be more. */
  end(offer: TakeOffer, taken: number, left: TakeCapacity): boolean {
    const wasAskedAgain = this.#round === "asked-again";
    this.#round = "idle";
    this.given(taken);
    if (this.#offer !== offer) return true; // it said something meanwhile
    this.#offer = { room: left, seen: offer.seen + taken };
    return taken > 0 || wasAskedAgain;
  }

  /** The round has failed. */
  fail(): void {
    this.#round = "idle";
  }
}
