import type { KindName } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { limits } from "../../../limits.ts";

/** What watchers are told beside what an event itself shows. */
export interface Aside {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly kind: KindName;
  readonly object: NexusObject;
}

/**
 * What followed from events in the tree: objects that came or went with rows of another table. Bounded:
 * a watch from before the oldest that is kept has to list again.
 */
export class Asides {
  readonly #byRevision = new Map<number, Aside[]>();
  #count = 0;
  #lost = 0;

  /** Asides up to this revision are no longer kept. */
  get lostUpTo(): number {
    return this.#lost;
  }

  add(revision: number, aside: Aside): void {
    if (revision === 0) return; // nobody watched yet
    const known = this.#byRevision.get(revision);
    if (known === undefined) this.#byRevision.set(revision, [aside]);
    else known.push(aside);
    this.#count++;
    for (const [oldest, asides] of this.#byRevision) {
      if (this.#count <= limits.nexusAsidesMax) break;
      this.#byRevision.delete(oldest);
      this.#count -= asides.length;
      this.#lost = oldest;
    }
  }

  of(revision: number, kind: KindName): readonly Aside[] {
    const all = this.#byRevision.get(revision);
    return all === undefined ? NONE : all.filter((aside) => aside.kind === kind);
  }
}

const NONE: readonly Aside[] = [];

/** The last that was known of shares that were taken away, as if all of it were done. Bounded. */
export class GoneShares {
  readonly #byName = new Map<string, NexusObject>();

  get(name: string): NexusObject | undefined {
    return this.#byName.get(name);
  }

  put(object: NexusObject): void {
    const { name } = object.metadata;
    this.#byName.delete(name);
    const state = { ...object.status.state, progress: 100 };
    this.#byName.set(name, { ...object, status: { ...object.status, state } });
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > limits.nexusGoneSharesMax && oldest !== undefined) {
      this.#byName.delete(oldest);
    }
  }
}
