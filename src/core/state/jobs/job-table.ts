import { limits } from "../../../limits.ts";
import { type JobId, type Revision, revision as toRevision } from "../../model/ids.ts";
import { hasIndexes } from "../../model/job/job.ts";
import type { Task } from "../../model/job/task.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import type { QueuedJobTable } from "../../scheduler/queue/queued-jobs.ts";
import { encodeJob, isEscaped } from "./job-codec.ts";
import { decodeTask, encodeTask } from "./task-codec.ts";
import { type EndedFold, type EndedMark, FoldedJobs, type KeptTask } from "./folded-jobs.ts";
import { JobRecord } from "./job-record.ts";
import { JobReader } from "./texts/job-reader.ts";
import {
  afterClosing,
  afterTask,
  endOf,
  isJobEnded,
  type JobStateName,
} from "../../model/progress.ts";

/**
 * Separates the row of an ended job, the revision of that row, and the rows of its tasks, each of
 * which begins with its revision. JSON text contains no newline.
 */
const NEXT_ROW = "\n";

type EndedInPlace = Pick<EndedFold, "group" | "state" | "revision">;

/**
 * All jobs by id. A queued or ended job whose row is durable is folded: stored as the text of its
 * row until it is placed, changed or removed, because a million records would fill the heap.
 * Reading a folded job makes a temporary record: docs/design/queued-jobs.md,
 * docs/design/ended-jobs.md.
 */
export class JobTable implements QueuedJobTable {
  readonly #open = new Map<JobId, JobRecord>();
  readonly #folded = new FoldedJobs();
  readonly #reader = new JobReader();
  /** How often a folded job was decoded: for tests. */
  unfoldings = 0;

  /** Rows are read back from now on. */
  startLoading(): void {
    this.#folded.startLoading();
  }

  finishLoading(): void {
    this.#folded.finishLoading();
  }

  get size(): number {
    return this.#open.size + this.#folded.size;
  }

  has(id: JobId): boolean {
    return this.#open.has(id) || this.#folded.has(id);
  }

  /** For reading only: for a folded job it is a copy. */
  get(id: JobId): JobRecord | undefined {
    return this.#open.get(id) ?? this.#unfolded(id);
  }

  /** The record itself, unless the job is folded. */
  getOpen(id: JobId): JobRecord | undefined {
    return this.#open.get(id);
  }

  /** For reading; undefined for a folded queued job, whose row has nothing more to say. */
  getIfBegun(id: JobId): JobRecord | undefined {
    return this.#open.get(id) ?? (this.#folded.endedMarkOf(id) && this.#unfolded(id));
  }

  /** For changes: the job is no longer folded. */
  open(id: JobId): JobRecord | undefined {
    const known = this.#open.get(id);
    if (known !== undefined) return known;
    const record = this.#unfolded(id);
    if (record === undefined) return undefined;
    this.#folded.delete(id);
    this.#open.set(id, record);
    return record;
  }

  /** The same, but a folded ended job stays folded. */
  openWaiting(id: JobId): JobRecord | undefined {
    return this.#folded.endedMarkOf(id) === undefined ? this.open(id) : undefined;
  }

  /** The lane of a folded queued job, without decoding its row. */
  foldedIn(id: JobId): Lane | undefined {
    return this.#folded.laneOf(id);
  }

  /** The same for a folded ended job. */
  foldedEnd(id: JobId): EndedMark | undefined {
    return this.#folded.endedMarkOf(id);
  }

  /** The stored row of a folded job, with rows of its tasks. */
  foldedText(id: JobId): string {
    return this.#folded.textOf(id);
  }

  /** The row of a folded job's only task, if it is available without decoding the job. */
  foldedTask(id: JobId): Task | undefined {
    return this.#folded.taskOf(id)?.row;
  }

  /**
   * A job's name without parsing all of its row. For a folded job it returns every candidate,
   * because a label may have the key "name" too.
   */
  possibleNames(id: JobId): readonly string[] {
    const record = this.#open.get(id);
    if (record !== undefined) return [record.job.spec.name];
    return this.#folded.has(id) ? namesIn(this.#folded.textOf(id)) : [];
  }

  /** The highest revision of the job's rows. */
  revisionOf(id: JobId): Revision | undefined {
    const open = this.#open.get(id);
    if (open !== undefined) return open.revision;
    return this.#folded.has(id) ? this.#folded.revisionOf(id) : undefined;
  }

  stateOf(id: JobId): JobStateName | undefined {
    const open = this.#open.get(id);
    if (open !== undefined) return open.progress.state;
    if (this.#folded.laneOf(id) !== undefined) return "pending";
    return this.#folded.endedMarkOf(id)?.state;
  }

  /** The time at which an ended job ended. */
  endOf(id: JobId): number {
    const open = this.#open.get(id);
    return open === undefined ? this.#folded.endOf(id) : endOf(open.job, open.progress);
  }

  /** The number of task rows of a folded job. */
  foldedTaskRows(id: JobId): number {
    if (this.#folded.hasTask(id)) return 1;
    return Math.max(0, this.#folded.textOf(id).split(NEXT_ROW).length - 2);
  }

  /** Every record that is not folded. */
  openRecords(): Iterable<JobRecord> {
    return this.#open.values();
  }

  foldedEndedIds(): Iterable<JobId> {
    return this.#folded.endedIds();
  }

  add(record: JobRecord): void {
    this.#open.set(record.job.id, record);
  }

  addFolded(id: JobId, text: string, lane: Lane, revision: Revision): void {
    this.#folded.add(id, { text, lane, revision });
  }

  delete(id: JobId): void {
    this.#open.delete(id);
    this.#folded.delete(id);
  }

  /** The job's row is stored as this text: the record keeps it for folding. */
  stored(id: JobId, text: string): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.rowText = text;
  }

  /** `text` is the job's stored row. Does nothing if the job has state beyond its row. */
  fold(id: JobId, text: string): void {
    const record = this.#open.get(id);
    if (record?.lane === undefined || !record.isUntouched) return;
    if (text.length > limits.foldedJobCharsMax) return; // folding long texts saves little
    this.#open.delete(id);
    this.#folded.add(id, { text, lane: record.lane, revision: record.revision });
  }

  /**
   * Folds an ended job once all its rows are durable. Folding long texts and large arrays saves
   * little.
   */
  foldEnded(id: JobId): void {
    const record = this.#open.get(id);
    if (record === undefined || !isJobEnded(record.progress)) return;
    if (record.taskRowCount > limits.foldedTaskRowsMax) return;
    const { job, progress } = record;
    const { group } = job.spec;
    let text = record.rowText ?? encodeJob(job);
    const only = hasIndexes(job.spec) ? undefined : record.task(0);
    if (only === undefined) {
      text += NEXT_ROW + record.rowRevision;
      for (const task of record.taskRows()) {
        text += `${NEXT_ROW}${record.taskRevision(task.index)} ${encodeTask(task)}`;
      }
    }
    if (text.length > limits.foldedJobCharsMax) return;
    this.#open.delete(id);
    const { state } = progress;
    const { revision } = record;
    const ofTask = only === undefined ? undefined : { row: only, revision: record.taskRevision(0) };
    const endMs = endOf(job, progress);
    this.#folded.addEnded(id, { text, group, state, endMs, revision, only: ofTask });
  }

  /** While rows are read back: the only task of a folded job has ended. */
  endFolded(id: JobId, only: KeptTask, end: EndedInPlace): void {
    const { state } = only.row;
    const endMs = "endedAtMs" in state ? state.endedAtMs : 0;
    this.#folded.endInPlace(id, { ...end, endMs, only });
  }

  #unfolded(id: JobId): JobRecord | undefined {
    if (!this.#folded.has(id)) return undefined;
    this.unfoldings++;
    const lane = this.#folded.laneOf(id);
    const whole = this.#folded.textOf(id);
    const [text = "", rowRevision, ...rows] = lane === undefined ? whole.split(NEXT_ROW) : [whole];
    const record = new JobRecord(this.#reader.read(text), this.#folded.revisionOf(id));
    if (rowRevision !== undefined) record.rowRevision = toRevision(Number(rowRevision));
    if (!this.#folded.isReadBack(id)) record.rowText = text;
    record.lane = lane;
    if (lane !== undefined) return record;
    record.progress = afterClosing(record.progress, record.job);
    const only = this.#folded.taskOf(id);
    if (only !== undefined) putTask(record, only);
    for (const line of rows) {
      const at = line.indexOf(" ");
      const revision = toRevision(Number(line.slice(0, at)));
      putTask(record, { row: decodeTask(line.slice(at + 1)), revision });
    }
    return record;
  }
}

function putTask(record: JobRecord, { row, revision }: KeptTask): void {
  record.progress = afterTask(record.progress, record.job, undefined, row);
  record.setTask(row, revision);
}

const NAMED = '"name":"';

/** Every string that follows `"name":` in JSON. */
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
