import type { SeededNumbers } from "../../lib/seeded-numbers.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { Request } from "./request.ts";
import { preferenceNow } from "./nodes/placement-cost.ts";

/**
 * One of the nodes that were offered, all of which have room: of those that serve the request in
 * the way it likes best. The order in which they are offered does not matter.
 */
export interface Choice {
  readonly offered: number;
  readonly record: NodeRecord | undefined;
  offer(record: NodeRecord): void;
}

/** The highest score; equal scores go by name, so that history does not matter. */
export class Best implements Choice {
  record: NodeRecord | undefined = undefined;
  offered = 0;
  /** How far down in the order of preference the best one is. */
  preference = Number.POSITIVE_INFINITY;
  #score = Number.NEGATIVE_INFINITY;
  readonly #request: Request;
  readonly #scoreOf: (record: NodeRecord) => number;

  constructor(request: Request, scoreOf: (record: NodeRecord) => number) {
    this.#request = request;
    this.#scoreOf = scoreOf;
  }

  offer(record: NodeRecord): void {
    this.offered++;
    const preference = preferenceNow(this.#request, record);
    if (preference > this.preference) return;
    const score = this.#scoreOf(record);
    const better =
      this.record === undefined ||
      preference < this.preference ||
      score > this.#score ||
      (score === this.#score && record.node.id < this.record.node.id);
    if (!better) return;
    this.record = record;
    this.preference = preference;
    this.#score = score;
  }
}

/** Any of them, each as likely as the others. */
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
