import { limits } from "../../../limits.ts";
import { nearest } from "../../../lib/nearest.ts";
import type { JobId } from "../../model/ids.ts";
import type { State } from "../state.ts";

/** The newest job of each name, as far as it is among the newest jobs. All are looked for at once. */
export function findNames(
  { jobs, jobOrder }: State,
  wanted: ReadonlySet<string>,
): ReadonlyMap<string, JobId> {
  const found = new Map<string, JobId>();
  const oldest = Math.max(0, jobOrder.length - limits.nameSearchJobsMax);
  for (let at = jobOrder.length - 1; at >= oldest && found.size < wanted.size; at--) {
    const id = jobOrder[at] as JobId;
    const isPossible = jobs.possibleNames(id).some((name) => wanted.has(name) && !found.has(name));
    const name = isPossible ? jobs.get(id)?.job.spec.name : undefined;
    if (name !== undefined && wanted.has(name) && !found.has(name)) found.set(name, id);
  }
  return found;
}

/** What was probably meant, among names of the submission and of the newest jobs. */
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
