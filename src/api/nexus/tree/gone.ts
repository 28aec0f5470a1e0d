import type { Texts } from "../../../core/model/job/job.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { KindName } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import { limits } from "../../../limits.ts";

/** A change that watchers receive in addition to that of the event itself. */
export interface Aside {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly kind: KindName;
  readonly object: NexusObject;
}

/** An object had other labels before a revision. */
interface Relabelled {
  readonly name: string;
  readonly labels: Texts;
}

/**
 * Consequences of events in the tree: objects that appeared or disappeared with rows of another table, and earlier labels of objects.
 * Bounded: a watch from before the oldest retained one has to list again.
 */
export class Asides {
  readonly #byRevision = new Map<number, (Aside | Relabelled)[]>();
  #count = 0;
  #lost = 0;

  /** Asides up to this revision are no longer retained. */
  get lostUpTo(): number {
    return this.#lost;
  }

  add(revision: number, aside: Aside | Relabelled): void {
    if (revision === 0) return; // no watch yet
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
    return all === undefined
      ? NONE
      : all.filter((aside): aside is Aside => "object" in aside && aside.kind === kind);
  }

  /** The labels that it had before this revision; undefined: the same. */
  labelsBefore(revision: number, name: string): Texts | undefined {
    for (const aside of this.#byRevision.get(revision) ?? NONE) {
      if (!("object" in aside) && aside.name === name) return aside.labels;
    }
    return undefined;
  }

  /** Records the earlier labels of a changed object. */
  noteLabels(revision: number, before: NexusObject | undefined, after: NexusObject): void {
    if (before === undefined) return;
    const { name, labels } = before.metadata;
    if (!isDeepEqual(labels, after.metadata.labels)) this.add(revision, { name, labels });
  }
}

const NONE: readonly Aside[] = [];

/** The last known state of shares that were taken away, as if all of it were done. Bounded. */
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
