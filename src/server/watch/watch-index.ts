import type { GroupId, JobId } from "../../core/model/ids.ts";
import type { Commit } from "../loop/open-batch.ts";
import { WATCH_KINDS, type WatchFilter, type WatchKind } from "./watch-filter.ts";

interface Filtered {
  readonly filter: WatchFilter;
}

/** Finds the watches that a commit concerns, so that it costs all other watches nothing. */
export class WatchIndex<Watch extends Filtered> {
  readonly #ofJob = new Map<JobId, Set<Watch>>();
  readonly #ofGroup = new Map<GroupId, Set<Watch>>();
  /** The watches of all jobs and groups, by each requested kind. */
  readonly #ofKind: ReadonlyMap<WatchKind, Set<Watch>> = new Map(
    WATCH_KINDS.map((kind) => [kind, new Set()]),
  );

  add(watch: Watch): void {
    const { jobId, group, kinds } = watch.filter;
    if (jobId !== undefined) addTo(this.#ofJob, jobId, watch);
    else if (group !== undefined) addTo(this.#ofGroup, group, watch);
    else for (const kind of kinds) this.#ofKind.get(kind)?.add(watch);
  }

  remove(watch: Watch): void {
    const { jobId, group } = watch.filter;
    if (jobId !== undefined) removeFrom(this.#ofJob, jobId, watch);
    else if (group !== undefined) removeFrom(this.#ofGroup, group, watch);
    else for (const watches of this.#ofKind.values()) watches.delete(watch);
  }

  /** May name a watch more than once, and one that in the end gets no event of its job or group. */
  concerned(commit: Commit, visit: (watch: Watch) => void): void {
    for (const [kind, watches] of this.#ofKind) {
      if (watches.size > 0 && hasKind(commit, kind)) watches.forEach(visit);
    }
    if (this.#ofJob.size > 0) this.#concernedByJob(commit, visit);
    if (this.#ofGroup.size > 0) this.#concernedByGroup(commit, visit);
  }

  #concernedByJob({ jobs, removedFrom }: Commit, visit: (watch: Watch) => void): void {
    for (const touched of [jobs, removedFrom]) {
      if (touched.size <= this.#ofJob.size) {
        for (const id of touched.keys()) this.#ofJob.get(id)?.forEach(visit);
      } else {
        for (const [id, watches] of this.#ofJob) if (touched.has(id)) watches.forEach(visit);
      }
    }
  }

  #concernedByGroup({ jobs, removedFrom }: Commit, visit: (watch: Watch) => void): void {
    const groups = new Set<GroupId>(removedFrom.values());
    for (const { job } of jobs.values()) groups.add(job.spec.group);
    for (const group of groups) this.#ofGroup.get(group)?.forEach(visit);
  }
}

function hasKind({ changes, jobs }: Commit, kind: WatchKind): boolean {
  if (kind === "job" && jobs.size > 0) return true;
  return changes.some((change) => change.table === kind);
}

function addTo<Key, Watch>(sets: Map<Key, Set<Watch>>, key: Key, watch: Watch): void {
  const known = sets.get(key);
  if (known === undefined) sets.set(key, new Set([watch]));
  else known.add(watch);
}

function removeFrom<Key, Watch>(sets: Map<Key, Set<Watch>>, key: Key, watch: Watch): void {
  const known = sets.get(key);
  known?.delete(watch);
  if (known?.size === 0) sets.delete(key);
}
