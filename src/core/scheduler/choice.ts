import type { SeededNumbers } from "../../lib/seeded-numbers.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { Request } from "./request.ts";
import type { Scorer } from "./scorers/scorer.ts";
import { preferenceNow } from "./nodes/placement-cost.ts";

/**
 * Chooses one of the offered nodes, all of which have free capacity: the best one among those that
 * serve the most preferred alternative of the request. The order of offers does not matter.
 */
export interface Choice {
  readonly offered: number;
  readonly record: NodeRecord | undefined;
  offer(record: NodeRecord): void;
}

/** How nodes that serve a request equally well are ranked: see Scorer. */
export type Ranking = Pick<Scorer, "score" | "tie">;

/** The highest score; equal ones go by the ranking's tie and then by name, so that history does not matter. */
export class Best implements Choice {
  record: NodeRecord | undefined = undefined;
  offered = 0;
  /** The alternative that the best one serves: its position in the order of preference. */
  preference = Number.POSITIVE_INFINITY;
  #score = Number.NEGATIVE_INFINITY;
  readonly #request: Request;
  readonly #ranking: Ranking;

  constructor(request: Request, ranking: Ranking) {
    this.#request = request;
    this.#ranking = ranking;
  }

  offer(record: NodeRecord): void {
    this.offered++;
    const preference = preferenceNow(this.#request, record);
    if (preference > this.preference) return;
    const score = this.#ranking.score(this.#request, record);
    const better =
      this.record === undefined ||
      preference < this.preference ||
      score > this.#score ||
      (score === this.#score && this.#winsTie(record, this.record));
    if (!better) return;
    this.record = record;
    this.preference = preference;
    this.#score = score;
  }

  #winsTie(record: NodeRecord, over: NodeRecord): boolean {
    const lead = (this.#ranking.tie?.(record) ?? 0) - (this.#ranking.tie?.(over) ?? 0);
    return lead === 0 ? record.node.id < over.node.id : lead > 0;
  }
}

/** The node whose last assignment is longest ago. */
export const LONGEST_AGO: Ranking = { score: (_, { lastTurn }) => -lastTurn };

/** A random node, all equally likely. */
export class Drawn implements Choice {
  offered = 0;
  #preference = Number.POSITIVE_INFINITY;
  #equal: NodeRecord[] = [];
  readonly #request: Request;
  readonly #numbers: SeededNumbers;

  constructor(request: Request, numbers: SeededNumbers) {
    this.#request = request;
    this.#numbers = numbers;
  }

  offer(record: NodeRecord): void {
    this.offered++;
    const preference = preferenceNow(this.#request, record);
    if (preference > this.#preference) return;
    if (preference < this.#preference) this.#equal = [];
    this.#preference = preference;
    this.#equal.push(record);
  }

  get record(): NodeRecord | undefined {
    if (this.#equal.length <= 1) return this.#equal[0];
    const byName = this.#equal.sort((a, b) => (a.node.id < b.node.id ? -1 : 1));
    return byName[Math.floor(this.#numbers.fraction() * byName.length)];
  }
}
