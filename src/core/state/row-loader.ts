import { limits } from "../../limits.ts";
import type { Job, JobTerms } from "../model/job/job.ts";
import { FactsPool } from "../model/node/facts-pool.ts";
import { DEFAULT_TERMS } from "../model/job/job-spec.ts";
import type { Change } from "./change.ts";
import { decodeRow, jobIdOfKey, waitingPrefix } from "./codec.ts";
import type { State } from "./state.ts";

const NAME = '"name":';
/** What a row may begin with, up to the job's name. */
const beginningOf = (text: string): string => text.slice(0, text.indexOf(NAME) + NAME.length);

/**
 * Puts stored rows back into a state, in the order of their keys. Many jobs have the same terms: of
 * a row that begins as another did only that beginning is looked at, which is what makes a start
 * with a million queued jobs quick.
 */
export function createRowLoader(state: State): (key: string, value: string) => void {
  const known = new Map<string, JobTerms>();
  const facts = new FactsPool();
  let like = DEFAULT_TERMS; // jobs that were submitted together mostly have the same

  const learn = ({ spec: { terms } }: Job, text: string): void => {
    like = terms;
    if (known.size >= limits.knownTermsMax || !canWait(terms)) return;
    // A label may be called "name" too: then the beginning is not all of the terms.
    const beginning = beginningOf(text);
    if (beginning === waitingPrefix(terms)) known.set(beginning, terms);
  };

  const shareFacts = (change: Change & { readonly table: "facts" }): Change =>
    "removed" in change
      ? change
      : { ...change, row: { ...change.row, facts: facts.share(change.row.facts) } };

  return (key, value) => {
    const id = value.length <= limits.foldedJobCharsMax ? jobIdOfKey(key) : undefined;
    const terms = id === undefined ? undefined : known.get(beginningOf(value));
    if (id !== undefined && terms !== undefined) {
      state.loadFolded(id, value, terms);
      return;
    }
    if (state.leftovers.passesOver(key)) return;
    const change = decodeRow(key, value, like);
    if (change.table === "task") {
      state.loadTask(change.row);
      return;
    }
    state.apply(change.table === "facts" ? shareFacts(change) : change);
    if (change.table !== "job" || "removed" in change) return;
    if (change.row.closed === undefined) state.jobs.fold(change.row.id, value);
    else state.jobs.foldEnded(change.row.id);
    learn(change.row, value);
  };
}

const canWait = ({ array, queueDeadlineMs }: JobTerms): boolean =>
  array === undefined && queueDeadlineMs === undefined;
