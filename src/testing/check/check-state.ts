import { type Revision, revision } from "../../core/model/ids.ts";
import type { Change } from "../../core/state/change.ts";
import { readJobs } from "../../core/state/checks/all-jobs.ts";
import { createRowLoader } from "../../core/state/row-loader.ts";
import { State } from "../../core/state/state.ts";
import { TABLES } from "../../core/state/tables/tables.ts";

/**
 * Recomputes from the rows what the indexes say, and returns every disagreement: overcommit, a
 * task on two nodes, counts that drifted, work the queue has forgotten.
 */
export function checkState(state: State): string[] {
  const jobs = readJobs(state);
  return state.tables.all.flatMap((table) => table.check(state, jobs));
}

/** All that must be equal in two states that hold the same rows. */
export function digest(state: State): unknown {
  const jobs = readJobs(state);
  return Object.fromEntries(
    state.tables.all.map((table) => [table.name, table.digest(state, jobs)]),
  );
}

/**
 * The state as a restarted server would read it back from the rows these changes left, which are all
 * that were ever made; those that are not stored still have their revisions.
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
  state.goOnAfter(revision(next - 1));
  return state;
}
