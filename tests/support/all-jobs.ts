import type { JobRecord } from "../../src/core/state/job-record.ts";
import type { State } from "../../src/core/state/state.ts";

/** In the order of their ids. */
export function* allJobs(state: State): Generator<JobRecord> {
  for (const id of state.jobOrder) {
    const record = state.jobs.get(id);
    if (record !== undefined) yield record;
  }
}
