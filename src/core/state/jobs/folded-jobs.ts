import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import { type GroupId, type JobId, NO_REVISION, type Revision } from "../../model/ids.ts";
import type { Task } from "../../model/job/task.ts";
import type { Lane } from "../../scheduler/queue/lane.ts";
import type { JobStateName } from "../../model/progress.ts";
import { RevisionColumn } from "./columns/revision-column.ts";
import { TaskColumns } from "./columns/task-columns.ts";
import { PagePool, TextBlock } from "./texts/text-block.ts";

export const IDS_PER_BLOCK = 4_096;

/** The facts of a folded ended job that are available without decoding its text. */
export interface EndedMark {
  readonly kind: "ended";
  readonly group: GroupId;
  readonly state: JobStateName;
}

/** A queued job. */
interface WaitingFold {
  readonly text: string;
  readonly lane: Lane;
  readonly revision: Revision;
}

/** A task's row with its revision. */
export interface KeptTask {
  readonly row: Task;
  readonly revision: Revision;
}

/** The folded form of an ended job. */
export interface EndedFold {
  /** Its row, and on further lines the rows of its tasks that are not in a column. */
  readonly text: string;
  readonly group: GroupId;
  readonly state: JobStateName;
  readonly endMs: number;
  /** The highest revision of its rows. */
  readonly revision: Revision;
  /** The row of the task of a job without an array. */
  readonly only: KeptTask | undefined;
}

/**
 * Jobs as the text of their stored rows. For a queued job the lane is available without decoding;
 * for an ended one its group, state and end. Jobs are in blocks of neighbouring ids.
 */
export class FoldedJobs {
  readonly #idsPerBlock: number;
  readonly #blocks = new Map<number, Block>();
  readonly #pages = new PagePool();
  #newest: Block | undefined = undefined;
  #size = 0;
  /**
   * Texts that were read back and are not in pages yet; undefined: no rows are being read back. Running jobs are opened before all rows are
   * read: their texts need no page.
   */
  #readBack: Map<JobId, string> | undefined = undefined;
  #readBackChars = 0;

  constructor(idsPerBlock = IDS_PER_BLOCK) {
    this.#idsPerBlock = idsPerBlock;
  }

  get size(): number {
    return this.#size;
  }

  /** Rows are read back from now on. */
  startLoading(): void {
    this.#readBack ??= new Map();
  }

  finishLoading(): void {
    for (const [id, text] of this.#readBack ?? []) {
      const block = this.#blockFor(id);
      block.texts.put(id - block.first, text);
    }
    this.#readBack = undefined;
    this.#readBackChars = 0;
  }

  /** Adds a queued job. */
  add(id: JobId, { text, lane, revision }: WaitingFold): void {
    const block = this.#blockFor(id);
    const at = id - block.first;
    block.add(at, lane, revision);
    this.#size++;
    if (this.#readBack === undefined || this.#readBackChars >= limits.readBackCharsMax) {
      block.texts.put(at, text);
      return;
    }
    this.#readBack.set(id, text);
    this.#readBackChars += text.length;
  }

  /** Whether the text of the job is as it was read back: a slice of a longer one, which it would retain. */
  isReadBack(id: JobId): boolean {
    return this.#readBack?.has(id) === true;
  }

  addEnded(id: JobId, fold: EndedFold): void {
    const block = this.#blockFor(id);
    block.texts.put(id - block.first, fold.text);
    block.end(id - block.first, fold);
    this.#size++;
  }

  /** The row of the only task of a queued job was read back: the job has ended. */
  endInPlace(id: JobId, fold: Omit<EndedFold, "text">): void {
    const block = this.#blockOf(id);
    invariant(block !== undefined, `job ${id} is folded`);
    block.end(id - block.first, fold);
  }

  laneOf(id: JobId): Lane | undefined {
    const mark = this.#markOf(id);
    return mark === undefined || "kind" in mark ? undefined : mark;
  }

  endedMarkOf(id: JobId): EndedMark | undefined {
    const mark = this.#markOf(id);
    return mark !== undefined && "kind" in mark ? mark : undefined;
  }

  has(id: JobId): boolean {
    return this.#markOf(id) !== undefined;
  }

  textOf(id: JobId): string {
    const block = this.#blockOf(id);
    const text = this.#readBack?.get(id) ?? block?.texts.get(id - block.first);
    invariant(text !== undefined, `job ${id} is folded`);
    return text;
  }

  /** The highest revision of a folded job's rows. */
  revisionOf(id: JobId): Revision {
    const block = this.#blockOf(id);
    return block?.revisions.get(id - block.first) ?? NO_REVISION;
  }

  /** The row of an ended job's only task, if it is in the columns. */
  taskOf(id: JobId): KeptTask | undefined {
    const block = this.#blockOf(id);
    return block?.taskAt(id - block.first);
  }

  hasTask(id: JobId): boolean {
    const block = this.#blockOf(id);
    return block?.columns?.has(id - block.first) === true;
  }

  /** The time at which a folded job ended. */
  endOf(id: JobId): number {
    const block = this.#blockOf(id);
    return block?.ends?.[id - block.first] ?? 0;
  }

  /** Ids of ended jobs, ascending within a block. */
  *endedIds(): Generator<JobId> {
    for (const block of this.#blocks.values()) {
      for (const [at, mark] of block.marks.entries()) {
        if (mark !== undefined && "kind" in mark) yield (block.first + at) as JobId;
      }
    }
  }

  delete(id: JobId): void {
    const block = this.#blockOf(id);
    if (block?.remove(id - block.first) !== true) return;
    this.#readBack?.delete(id);
    this.#size--;
    if (block.left === 0 && block !== this.#newest) this.#blocks.delete(block.first);
  }

  #markOf(id: JobId): Mark | undefined {
    const block = this.#blockOf(id);
    return block?.marks[id - block.first];
  }

  #blockOf(id: JobId): Block | undefined {
    return this.#blocks.get(id - (id % this.#idsPerBlock));
  }

  #blockFor(id: JobId): Block {
    const first = id - (id % this.#idsPerBlock);
    const newest = this.#newest;
    if (newest?.first === first) return newest;
    const known = this.#blocks.get(first);
    if (known !== undefined) return known;
    const block = new Block(first, this.#idsPerBlock, this.#pages);
    this.#blocks.set(first, block);
    if (newest === undefined || newest.first < first) {
      if (newest?.left === 0) this.#blocks.delete(newest.first);
      this.#newest = block;
    }
    return block;
  }
}

type Mark = Lane | EndedMark;

/** Jobs of neighbouring ids. */
class Block {
  readonly first: number;
  readonly marks: (Mark | undefined)[] = [];
  readonly texts: TextBlock;
  readonly #size: number;
  readonly revisions: RevisionColumn;
  ends: Float64Array | undefined = undefined;
  columns: TaskColumns | undefined = undefined;
  #taskRevisions: RevisionColumn | undefined = undefined;
  left = 0;
  /** Jobs of one group with equal outcomes share their mark. */
  readonly #ended = new Map<GroupId, EndedMark[]>();

  constructor(first: number, size: number, pages: PagePool) {
    this.first = first;
    this.#size = size;
    this.texts = new TextBlock(size, pages);
    this.revisions = new RevisionColumn(size);
  }

  add(at: number, lane: Lane, revision: Revision): void {
    this.revisions.put(at, revision);
    this.#mark(at, lane);
  }

  taskAt(at: number): KeptTask | undefined {
    const row = this.columns?.get(at, (this.first + at) as JobId, 0);
    return row && { row, revision: this.#taskRevisions?.get(at) ?? NO_REVISION };
  }

  end(at: number, { group, state, endMs, revision, only }: Omit<EndedFold, "text">): void {
    this.#mark(at, this.#endedMark(group, state));
    this.revisions.put(at, revision);
    this.ends ??= new Float64Array(this.#size);
    this.ends[at] = endMs;
    if (only === undefined) return;
    this.columns ??= new TaskColumns(this.#size);
    this.columns.put(at, only.row);
    this.#taskRevisions ??= new RevisionColumn(this.#size);
    this.#taskRevisions.put(at, only.revision);
  }

  remove(at: number): boolean {
    if (this.marks[at] === undefined) return false;
    this.marks[at] = undefined;
    this.left--;
    this.texts.remove(at);
    this.columns?.remove(at);
    return true;
  }

  #mark(at: number, mark: Mark): void {
    while (this.marks.length <= at) this.marks.push(undefined); // a hole would turn it into a slow dictionary array
    if (this.marks[at] === undefined) this.left++;
    this.marks[at] = mark;
  }

  #endedMark(group: GroupId, state: JobStateName): EndedMark {
    let marks = this.#ended.get(group);
    if (marks === undefined) {
      marks = [];
      this.#ended.set(group, marks);
    }
    let mark = marks.find((one) => one.state === state);
    if (mark === undefined) {
      mark = { kind: "ended", group, state };
      marks.push(mark);
    }
    return mark;
  }
}
