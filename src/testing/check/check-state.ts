import { type Revision, revision } from "../../core/model/ids.ts";
import type { Change } from "../../core/state/change.ts";
import { readJobs } from "../../core/state/checks/all-jobs.ts";
import { createRowLoader } from "../../core/state/row-loader.ts";
import { State } from "../../core/state/state.ts";
import { TABLES } from "../../core/state/tables/tables.ts";

/**
 * Recomputes the indexes from the rows, and returns every disagreement: overcommit, a task on two nodes, wrong counts, pending tasks that
 * the queue does not have.
 */
export function checkState(state: State): string[] {
  const jobs = readJobs(state);
  return state.tables.all.flatMap((table) => table.check(state, jobs));
}

/** Everything that must be equal in two states with the same rows. */
export function digest(state: State): unknown {
  const jobs = readJobs(state);
  return Object.fromEntries(
    state.tables.all.map((table) => [table.name, table.digest(state, jobs)]),
  );
}

/**
 * The state that a restarted server loads from the rows of these changes, which are all changes ever made. Changes that are not stored
 * still have their revisions.
 */
export function readBack(
  changes: readonly Change[],
  isStored: (change: Change) => boolean = () => true,
): State {
  const rows = new Map<string, { readonly value: string; readonly at: Revision }>();
  let next = 1;
  for (const change of changes) {
    const at = revision(next);
    next += change.table === "task" ? 2 : 1; // a task moves its job
    if (!isStored(change)) continue;
    TABLES.encode(change, (key, value) => {
      if (value === undefined) rows.delete(key);
      else rows.set(key, { value, at });
    });
  }
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
  const state = new State();
  const load = createRowLoader(state);
  state.startLoading();
  for (const [key, { value, at }] of sorted) load(key, value, at);
  state.finishLoading();
  state.continueAfter(revision(next - 1));
  return state;
}
