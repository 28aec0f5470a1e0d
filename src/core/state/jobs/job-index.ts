import type { GroupId, JobId } from "../../model/ids.ts";
import type { Job, JobTerms } from "../../model/job/job.ts";
import type { JobStateName } from "../../model/progress.ts";

const IDS_PER_BLOCK = 4_096;
const FILTER_BITS = 65_536;
const BITS_PER_TEXT = 4;
/** Up to this many names, looking up each one is faster. */
const FEW_NAMES = 16;

const STATES: readonly JobStateName[] = [
  "pending",
  "accepted",
  "running",
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
];

/** The searchable fields of a job. */
export interface IndexedJob {
  readonly name: string;
  readonly terms: Pick<JobTerms, "group" | "labels">;
  readonly submittedBy: string;
  readonly submittedAtMs: number;
}

export const indexed = ({ spec, submittedBy, submittedAtMs }: Job): IndexedJob => ({
  submittedAtMs,
  name: spec.name,
  terms: spec.terms,
  submittedBy,
});

export interface IndexQuery {
  readonly states?: readonly JobStateName[] | undefined;
  readonly group?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly name?: string | undefined;
  readonly submittedBy?: string | undefined;
  readonly submittedFromMs?: number | undefined;
  readonly submittedBeforeMs?: number | undefined;
}

/** A query whose texts are hashed once. */
export interface PreparedQuery {
  readonly states: readonly number[] | undefined;
  readonly nameHash: number | undefined;
  readonly texts: readonly string[];
  readonly fromMs: number;
  readonly beforeMs: number;
}

const groupText = (group: string): string => `g\0${group}`;
const labelText = (key: string, value: string): string => `l\0${key}\0${value}`;
const submitterText = (name: string): string => `s\0${name}`;

export function prepareQuery({
  states,
  group,
  labels,
  name,
  submittedBy,
  submittedFromMs = -Infinity,
  submittedBeforeMs = Infinity,
}: IndexQuery): PreparedQuery {
  const texts = Object.entries(labels ?? {}).map(([key, value]) => labelText(key, value));
  if (group !== undefined) texts.push(groupText(group));
  if (submittedBy !== undefined) texts.push(submitterText(submittedBy));
  const isAny = states === undefined || states.length === 0;
  return {
    states: isAny ? undefined : states.map((state) => STATES.indexOf(state)),
    nameHash: name === undefined ? undefined : hash(name, 0),
    texts,
    fromMs: submittedFromMs,
    beforeMs: submittedBeforeMs,
  };
}

/**
 * Tells for 4,096 neighbouring ids at once that no job among them can match, so that a list skips
 * them. Names are hashes, one for each job; groups, labels and submitters share a Bloom filter of 8
 * KiB; states are counted, and the first and last time of submission are known. 6 bytes for each
 * job, folded or not.
 */
export class JobIndex {
  readonly #blocks = new Map<number, IndexBlock>();

  add(id: JobId, job: IndexedJob): void {
    const first = firstOf(id);
    let block = this.#blocks.get(first);
    if (block === undefined) {
      block = new IndexBlock();
      this.#blocks.set(first, block);
    }
    block.add(id - first, job);
  }

  moved(id: JobId, before: JobStateName, after: JobStateName): void {
    this.#blocks.get(firstOf(id))?.moved(before, after);
  }

  /** Adds the new group. A Bloom filter cannot remove the old one. */
  regrouped(id: JobId, group: GroupId): void {
    this.#blocks.get(firstOf(id))?.regrouped(group);
  }

  remove(id: JobId, state: JobStateName): void {
    const first = firstOf(id);
    const block = this.#blocks.get(first);
    if (block?.remove(id - first, state) === 0) this.#blocks.delete(first);
  }

  /** The smallest id of the block of this id. */
  firstNear = (id: JobId): number => firstOf(id);

  /** Whether a job of this id's block can match. */
  mayHold(id: JobId, query: PreparedQuery): boolean {
    return this.#blocks.get(firstOf(id))?.mayHold(query) === true;
  }

  /** Jobs that can have one of the names, newest first, among about `jobsMax` of the newest. */
  *newestNamed(names: ReadonlySet<string>, jobsMax: number): Generator<JobId> {
    const hashes = new Set(Array.from(names, (name) => hash(name, 0)));
    const firsts = [...this.#blocks.keys()].sort((a, b) => b - a);
    for (const first of firsts.slice(0, Math.ceil(jobsMax / IDS_PER_BLOCK))) {
      const block = this.#blocks.get(first);
      if (block === undefined || !block.hasNameOf(hashes)) continue;
      for (let at = IDS_PER_BLOCK - 1; at >= 0; at--) {
        const its = block.names[at];
        if (its !== undefined && hashes.has(its)) yield (first + at) as JobId;
      }
    }
  }

  /** Whether this job can have the name; false positives: one in four thousand million. */
  mayBeNamed(id: JobId, nameHash: number): boolean {
    const first = firstOf(id);
    return this.#blocks.get(first)?.names[id - first] === nameHash;
  }
}

const firstOf = (id: JobId): number => id - (id % IDS_PER_BLOCK);

class IndexBlock {
  readonly names = new Uint32Array(IDS_PER_BLOCK);
  readonly #filter = new Uint32Array(FILTER_BITS / 32);
  readonly #states = new Uint16Array(STATES.length);
  #count = 0;
  /** Of any job that was ever added. */
  #firstMs = Infinity;
  #lastMs = -Infinity;
  // Neighbours mostly have the same terms.
  #lastTerms: IndexedJob["terms"] | undefined = undefined;
  #lastSubmitter: string | undefined = undefined;

  add(at: number, { name, terms, submittedBy, submittedAtMs }: IndexedJob): void {
    this.#firstMs = Math.min(this.#firstMs, submittedAtMs);
    this.#lastMs = Math.max(this.#lastMs, submittedAtMs);
    this.names[at] = hash(name, 0);
    this.#count++;
    this.#step("pending", 1);
    if (submittedBy !== this.#lastSubmitter) this.#put(submitterText(submittedBy));
    this.#lastSubmitter = submittedBy;
    if (terms === this.#lastTerms) return;
    if (terms.group !== this.#lastTerms?.group) this.#put(groupText(terms.group));
    this.#lastTerms = terms;
    for (const key in terms.labels) this.#put(labelText(key, terms.labels[key] ?? ""));
  }

  moved(before: JobStateName, after: JobStateName): void {
    this.#step(before, -1);
    this.#step(after, 1);
  }

  regrouped(group: GroupId): void {
    this.#put(groupText(group));
  }

  remove(at: number, state: JobStateName): number {
    this.names[at] = 0;
    this.#step(state, -1);
    return --this.#count;
  }

  mayHold({ states, nameHash, texts, fromMs, beforeMs }: PreparedQuery): boolean {
    if (this.#lastMs < fromMs || this.#firstMs >= beforeMs) return false;
    if (states !== undefined && !states.some((state) => (this.#states[state] ?? 0) > 0))
      return false;
    if (nameHash !== undefined && !this.names.includes(nameHash)) return false;
    return texts.every((text) => this.#has(text));
  }

  hasNameOf(hashes: ReadonlySet<number>): boolean {
    if (hashes.size > FEW_NAMES) return true;
    for (const one of hashes) if (this.names.includes(one)) return true;
    return false;
  }

  #step(state: JobStateName, by: number): void {
    const at = STATES.indexOf(state);
    this.#states[at] = (this.#states[at] ?? 0) + by;
  }

  // Called for every job: these two make no list of the bits.
  #put(text: string): void {
    const [first, step] = [hash(text, 0), hash(text, 1) | 1];
    for (let at = 0; at < BITS_PER_TEXT; at++) {
      const bit = bitAt(first, step, at);
      this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  #has(text: string): boolean {
    const [first, step] = [hash(text, 0), hash(text, 1) | 1];
    for (let at = 0; at < BITS_PER_TEXT; at++) {
      const bit = bitAt(first, step, at);
      if (((this.#filter[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }
}

const bitAt = (first: number, step: number, at: number): number =>
  ((first + at * step) >>> 0) % FILTER_BITS;

/** FNV-1a, never 0. */
function hash(text: string, seed: number): number {
  let value = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1);
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  value ^= value >>> 15;
  return value >>> 0 || 1;
}
