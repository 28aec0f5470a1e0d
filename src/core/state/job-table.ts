import { limits } from "../../limits.ts";
import type { JobId } from "../model/ids.ts";
import { DEFAULT_TERMS } from "../model/job-spec.ts";
import type { Lane } from "../scheduler/lane.ts";
import { decodeJob } from "./codec.ts";
import { FoldedJobs } from "./folded-jobs.ts";
import { JobRecord } from "./job-record.ts";
import type { JobStateName } from "./progress.ts";

/**
 * All jobs by their ids. A job that was stored and only waits is folded: kept as the text of its row
 * until it is placed or changed, because a million records would fill the heap. Who looks at a
 * folded job gets a record made for the look: docs/design/queued-jobs.md.
 */
export class JobTable {
  readonly #open = new Map<JobId, JobRecord>();
  readonly #folded = new FoldedJobs();
  #like = DEFAULT_TERMS; // jobs that are looked at one after the other mostly have the same

  get size(): number {
    return this.#open.size + this.#folded.size;
  }

  has(id: JobId): boolean {
    return this.#open.has(id) || this.#folded.laneOf(id) !== undefined;
  }

  /** To look at, not to change: of a folded job it is a copy. */
  get(id: JobId): JobRecord | undefined {
    return this.#open.get(id) ?? this.#unfolded(id);
  }

  /** The record itself, if the job is not folded; a folded one has no rows of tasks. */
  getOpen(id: JobId): JobRecord | undefined {
    return this.#open.get(id);
  }

  /** To change: from here on it is folded no more. */
  open(id: JobId): JobRecord | undefined {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const record = this.#unfolded(id);
    if (record === undefined) return undefined;
    this.#folded.delete(id);
    this.#open.set(id, record);
    return record;
  }

  /** In which lane the job waits, if it is folded: what can be said of it without reading its row. */
  foldedIn(id: JobId): Lane | undefined {
    return this.#folded.laneOf(id);
  }

  /**
   * A job's name without reading all of its row: of a folded one all that could be it, because
   * labels may be called "name" too.
   */
  possibleNames(id: JobId): readonly string[] {
    const record = this.#open.get(id);
    if (record !== undefined) return [record.job.spec.name];
    return this.foldedIn(id) === undefined ? [] : namesIn(this.#folded.textOf(id));
  }

  stateOf(id: JobId): JobStateName | undefined {
    return this.#open.get(id)?.progress.state ?? (this.foldedIn(id) && "pending");
  }

  /** Every record that is not folded. */
  openRecords(): Iterable<JobRecord> {
    return this.#open.values();
  }

  add(record: JobRecord): void {
    this.#open.set(record.job.id, record);
  }

  addFolded(id: JobId, text: string, lane: Lane): void {
    this.#folded.add(id, text, lane);
  }

  delete(id: JobId): void {
    this.#open.delete(id);
    this.#folded.delete(id);
  }

  /** `text` is the job's row as it is stored. Does nothing if more is known of it than its row. */
  fold(id: JobId, text: string): void {
    const record = this.#open.get(id);
    if (record?.lane === undefined || !record.onlyWaits) return;
    if (text.length > limits.foldedJobCharsMax) return; // long ones gain little
    this.#open.delete(id);
    this.#folded.add(id, text, record.lane);
  }

  #unfolded(id: JobId): JobRecord | undefined {
    const lane = this.#folded.laneOf(id);
    if (lane === undefined) return undefined;
    const text = this.#folded.textOf(id);
    const record = new JobRecord(decodeJob(text, this.#like));
    this.#like = record.job.spec.terms;
    record.lane = lane;
    return record;
  }
}

const NAMED = '"name":"';

/** Every text that stands after `"name":` in JSON. */
function namesIn(text: string): string[] {
  const names: string[] = [];
  for (let at = text.indexOf(NAMED); at >= 0; at = text.indexOf(NAMED, at + 1)) {
    const from = at + NAMED.length;
    let end = text.indexOf('"', from);
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
    const raw = text.slice(from, end);
    names.push(raw.includes("\\") ? (JSON.parse(`"${raw}"`) as string) : raw);
  }
  return names;
}

/** Whether an odd number of backslashes stands before. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}
