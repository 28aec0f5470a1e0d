import { limits } from "../../../limits.ts";
import type { JobId } from "../../model/ids.ts";
import type { Job, JobTerms } from "../../model/job/job.ts";
import { DEFAULT_TERMS } from "../../model/job/job-spec.ts";
import {
  checkDeadlines,
  checkFolded,
  checkGivenUp,
  checkJobLists,
  checkJobs,
} from "../checks/jobs.ts";
import { checkHolds } from "../checks/holds.ts";
import { checkClasses, checkLanes } from "../checks/queue.ts";
import { loadFolded, putJob, removeJob } from "../effects.ts";
import { decodeJob, encodeJob, waitingPrefix } from "../jobs/job-codec.ts";
import { JobTable } from "../jobs/job-table.ts";
import { jobIdOfKey, jobKey, taskKey } from "../row-keys.ts";
import type { State } from "../state.ts";
import { idOf, type LoadRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type JobChange =
  | Written<"job", Job>
  /** Removes the rows of its tasks, too: those at `indexes`. */
  | (Removed<"job", JobId> & { readonly indexes: readonly number[] });

export const jobTable: WatchedTable<JobChange, JobTable> = {
  name: "job",
  isWatched: true,
  keyOf: (change) => jobKey(idOf(change)),
  encode(change, write) {
    if ("removed" in change) {
      write(jobKey(change.removed), undefined);
      for (const index of change.indexes) write(taskKey(change.removed, index), undefined);
    } else {
      write(jobKey(change.row.id), encodeJob(change.row));
    }
  },
  decode: (_key, value) => ({ table: "job", row: decodeJob(value) }),
  newRows: () => new JobTable(),
  apply(state, change) {
    if ("removed" in change) removeJob(state, change.removed);
    else putJob(state, change.row);
  },
  loader,
  isNewest(state, change) {
    if ("removed" in change) return !state.jobs.has(change.removed);
    return state.jobs.getOpen(change.row.id)?.job === change.row;
  },
  check: (state, jobs) => [
    ...checkJobs(jobs),
    ...checkGivenUp(state, jobs),
    ...checkFolded(state, jobs),
    ...checkJobLists(state, jobs),
    ...checkDeadlines(state, jobs),
    ...checkHolds(state, jobs),
    ...checkLanes(state),
    ...checkClasses(state),
  ],
  digest: ({ ended, holds }, jobs) => ({
    rows: jobs.map(({ job, progress, revision, rowRevision }) => ({
      job,
      progress,
      revision,
      // The revision of tasks without rows.
      rowRevision: job.spec.array && rowRevision,
    })),
    ended: ended.count,
    endedTasks: ended.tasks,
    held: holds.size,
  }),
};

const NAME = '"name":';
/** The beginning of a row, up to the job's name. */
const beginningOf = (text: string): string => text.slice(0, text.indexOf(NAME) + NAME.length);

/**
 * Many jobs have equal terms. Of a row with the same beginning as another, only that beginning is read:
 * this makes a start with a million queued jobs fast.
 */
function loader(state: State): LoadRow {
  const known = new Map<string, JobTerms>();
  let like = DEFAULT_TERMS; // jobs that were submitted together mostly have the same terms

  const learn = ({ spec: { terms } }: Job, text: string): void => {
    like = terms;
    if (known.size >= limits.knownTermsMax || !canWait(terms)) return;
    // A label may have the key "name" too: then the beginning does not contain all terms.
    const beginning = beginningOf(text);
    if (beginning === waitingPrefix(terms)) known.set(beginning, terms);
  };

  return (key, value) => {
    const id = value.length <= limits.foldedJobCharsMax ? jobIdOfKey(key) : undefined;
    const terms = id === undefined ? undefined : known.get(beginningOf(value));
    if (id !== undefined && terms !== undefined) {
      loadFolded(state, id, value, terms);
      return;
    }
    const row = decodeJob(value, like);
    putJob(state, row);
    if (row.closed === undefined) state.jobs.fold(row.id, value);
    else state.jobs.foldEnded(row.id);
    learn(row, value);
  };
}

const canWait = ({ array, queueDeadlineMs, beginAtMs }: JobTerms): boolean =>
  array === undefined && queueDeadlineMs === undefined && beginAtMs === undefined;
