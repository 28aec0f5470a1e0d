import { clusterId, type JobId, nodeId } from "../../core/model/ids.ts";
import type { Task } from "../../core/model/job/task.ts";
import { type PreparedQuery, prepareQuery } from "../../core/state/jobs/job-index.ts";
import type { JobOrder, SortKey } from "../../core/state/jobs/job-order.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import type { State } from "../../core/state/state.ts";
import { limits } from "../../limits.ts";
import type { JobFilter } from "../operations/operations.ts";

/** Reading a folded job takes as long as checking this many others, and so does showing one. */
export const UNFOLDING_LOOKS = 8;
/** The same for a search in the text of a folded job. */
const SEARCH_LOOKS = 2;

interface ListOptions {
  readonly filter: JobFilter;
  readonly size: number;
  /** Only jobs with smaller ids. */
  readonly below: number | undefined;
  /** Undefined: the newest first. */
  readonly order?: JobOrder | undefined;
}

/**
 * One page of jobs, from the newest down, read in slices. Skips blocks in which no job can match, and searches the text of a folded job
 * before it parses it.
 */
export class JobList<View> {
  readonly found: View[] = [];
  /** The number of checked jobs: for tests, like the number of skipped blocks. */
  looks = 0;
  passedOver = 0;
  readonly #options: ListOptions;
  readonly #query: PreparedQuery;
  /** A text that a folded job must contain. */
  readonly #parts: readonly string[];
  #below: number | undefined;
  /** The found jobs, if there is an order. */
  readonly #keys: SortKey[] = [];
  /** The first id of the present block. */
  #block = -1;

  constructor(options: ListOptions) {
    this.#options = options;
    this.#query = prepareQuery(options.filter);
    this.#parts = partsOf(options.filter);
    this.#below = options.below;
  }

  /** The position of the next page; undefined: there is none. */
  get next(): number | undefined {
    return this.#below;
  }

  /** Checks some jobs; returns whether the page is complete. */
  slice(state: State, show: (record: JobRecord) => View): boolean {
    const order = state.jobOrder;
    const until = Math.min(this.looks + limits.listSliceLooks, limits.listPageLooksMax);
    let at = this.#below === undefined ? order.length : lowerBound(order, this.#below);
    while (at > 0 && this.looks < until && !this.#isFull) {
      const id = order[at - 1] as JobId;
      this.looks++;
      if (!this.#enter(state, id)) {
        at = lowerBound(order, this.#block);
        continue;
      }
      at--;
      const record = this.#match(state, id);
      if (record === undefined) continue;
      this.looks += UNFOLDING_LOOKS;
      this.#take(record, show);
    }
    this.#below = at > 0 ? (order[at - 1] as number) + 1 : undefined;
    return at === 0 || this.#isFull || this.looks >= limits.listPageLooksMax;
  }

  /** With an order, a page scans all jobs that it may, and returns the first of them. */
  get #isFull(): boolean {
    return this.#options.order === undefined && this.found.length >= this.#options.size;
  }

  #take(record: JobRecord, show: (record: JobRecord) => View): void {
    const { order, size } = this.#options;
    if (order === undefined) {
      this.found.push(show(record));
      return;
    }
    const key = order.keyOf(record);
    // Of equal jobs the newer one is first, because it was found first.
    const at = upperBound(this.#keys, (other) => order.compare(other, key) <= 0);
    if (at >= size) return;
    this.#keys.splice(at, 0, key);
    this.found.splice(at, 0, show(record));
    if (this.found.length <= size) return;
    this.#keys.pop();
    this.found.pop();
  }

  /** Whether the block of this job may contain a match. */
  #enter({ index }: State, id: JobId): boolean {
    const block = index.firstNear(id);
    if (block === this.#block) return true;
    this.#block = block;
    if (index.mayHold(id, this.#query)) return true;
    this.passedOver++;
    return false;
  }

  #match(state: State, id: JobId): JobRecord | undefined {
    const { nameHash } = this.#query;
    if (nameHash !== undefined && !state.index.mayBeNamed(id, nameHash)) return undefined;
    if (!this.#mayMatchFolded(state, id)) return undefined;
    const record = state.jobs.get(id);
    return record !== undefined && jobMatches(state, record, this.#options.filter)
      ? record
      : undefined;
  }

  #mayMatchFolded(state: State, id: JobId): boolean {
    const { jobs } = state;
    const { states, group, cluster, node } = this.#options.filter;
    const lane = jobs.foldedIn(id);
    const mark = jobs.foldedEnd(id);
    if (lane === undefined && mark === undefined) return true;
    const isAny = states === undefined || states.length === 0;
    if (!isAny && !states.includes(mark?.state ?? "pending")) return false;
    if (group !== undefined && group !== (mark?.group ?? lane?.group.group.id)) return false;
    const wantsPlace = cluster !== undefined || node !== undefined;
    if (wantsPlace && lane !== undefined) return false; // it was never on one
    if (wantsPlace && !this.#mayHaveBeenThere(state, id)) return false;
    if (this.#parts.length > 0) {
      this.looks += SEARCH_LOOKS;
      const text = jobs.foldedText(id);
      if (!this.#parts.every((part) => text.includes(part))) return false;
    }
    this.looks += UNFOLDING_LOOKS;
    return true;
  }

  /** An ended, folded job. If it has several rows, its text is parsed. */
  #mayHaveBeenThere(state: State, id: JobId): boolean {
    const { cluster, node } = this.#options.filter;
    const only = state.jobs.foldedTask(id);
    if (only === undefined) return state.jobs.foldedTaskRows(id) > 0;
    return hasTaskBeenOn(
      only,
      placeTest(state, node, cluster),
      node === undefined ? cluster : undefined,
    );
  }
}

const partsOf = ({ labels, submittedBy }: JobFilter): string[] => {
  const parts = Object.entries(labels ?? {}).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`,
  );
  if (submittedBy !== undefined) parts.push(`"submittedBy":${JSON.stringify(submittedBy)}`);
  return parts;
};

/** The position of the first id that is not below `id`. */
export function lowerBound(order: readonly number[], id: number): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((order[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The number of items at the beginning that come before. */
function upperBound(keys: readonly SortKey[], isBefore: (key: SortKey) => boolean): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(keys[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function jobMatches(state: State, record: JobRecord, filter: JobFilter): boolean {
  const { spec, submittedBy, submittedAtMs } = record.job;
  const { states, group, labels, cluster, node, name } = filter;
  if (states !== undefined && states.length > 0 && !states.includes(record.progress.state)) {
    return false;
  }
  if (submittedAtMs < (filter.submittedFromMs ?? -Infinity)) return false;
  if (submittedAtMs >= (filter.submittedBeforeMs ?? Infinity)) return false;
  if (group !== undefined && spec.group !== group) return false;
  if (name !== undefined && spec.name !== name) return false;
  if (filter.submittedBy !== undefined && submittedBy !== filter.submittedBy) return false;
  for (const label in labels) if (spec.labels[label] !== labels[label]) return false;
  if (cluster === undefined && node === undefined) return true;
  return hasBeenOn(state, record, node, cluster);
}

const placeTest =
  ({ nodes }: State, node: string | undefined, cluster: string | undefined) =>
  (id: string): boolean =>
    (node === undefined || id === node) &&
    (cluster === undefined || nodes.get(nodeId(id))?.node.cluster === cluster);

/** Whether a task of the job is or was on the node or cluster, according to its rows. */
function hasBeenOn(
  state: State,
  record: JobRecord,
  node: string | undefined,
  cluster: string | undefined,
): boolean {
  const fits = placeTest(state, node, cluster);
  const rows = record.arrayTasks;
  if (rows === undefined) {
    const own = node === undefined ? cluster : undefined;
    for (const task of record.taskRows()) if (hasTaskBeenOn(task, fits, own)) return true;
    return false;
  }
  const { tables } = rows;
  if (node !== undefined) return tables.hasNode(nodeId(node)) && fits(node);
  if (cluster === undefined) return true;
  return (
    rows.isOfferedTo(clusterId(cluster)) ||
    tables.clusters.has(clusterId(cluster)) ||
    tables.nodes.some(fits)
  );
}

function hasTaskBeenOn(
  { state, past }: Task,
  fits: (node: string) => boolean,
  cluster: string | undefined,
): boolean {
  return [state, ...past].some((at) => {
    if ("nodeId" in at && at.nodeId !== undefined && fits(at.nodeId)) return true;
    return cluster !== undefined && "cluster" in at && at.cluster === cluster;
  });
}
