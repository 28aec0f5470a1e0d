import { DEFAULT_TERMS } from "../model/job-spec.ts";
import { decodeRow } from "./codec.ts";
import type { State } from "./state.ts";

/** Puts stored rows back into a state, one after the other. Between startLoading and finishLoading. */
export function createRowLoader(state: State): (key: string, value: string) => void {
  let like = DEFAULT_TERMS; // jobs that were submitted together mostly have the same
  return (key, value) => {
    const change = decodeRow(key, value, like);
    state.apply(change);
    if (change.table !== "job" || "removed" in change) return;
    like = change.row.spec.terms;
    state.jobs.fold(change.row.id, value);
  };
}
