import { limits } from "../../../limits.ts";
import { nearest } from "../../../lib/nearest.ts";
import type { JobId } from "../../model/ids.ts";
import type { State } from "../state.ts";

/** The newest job of each name. Jobs with other names are not decoded. */
export function findNames(
  { jobs, index }: State,
  wanted: ReadonlySet<string>,
): ReadonlyMap<string, JobId> {
  const found = new Map<string, JobId>();
  for (const id of index.newestNamed(wanted, limits.nameSearchJobsMax)) {
    const name = jobs.get(id)?.job.spec.name;
    if (name !== undefined && wanted.has(name) && !found.has(name)) found.set(name, id);
    if (found.size === wanted.size) break;
  }
  return found;
}

/** The most similar name of the submission and of the newest jobs, for a suggestion. */
export function nearestName(
  { jobs, jobOrder }: State,
  wanted: string,
  here: Iterable<string>,
): string | undefined {
  const known = new Set<string>();
  for (const name of here) if (known.size < limits.nameSuggestionsMax) known.add(name);
  const oldest = Math.max(0, jobOrder.length - limits.nameSuggestionsMax);
  for (let at = jobOrder.length - 1; at >= oldest; at--) {
    for (const name of jobs.possibleNames(jobOrder[at] as JobId)) known.add(name);
  }
  known.delete(wanted);
  return nearest(wanted, [...known]);
}
