import type { JobName, EdgeShare } from "../model/project.ts";
import { isOver, shareNameOf } from "../model/project.ts";
import type { ShareTaskView } from "../model/views.ts";
import { SiteShares } from "./site-shares.ts";

/** The place of a task, in terms of the tree. */
export interface EdgePlace {
  readonly site: string;
  readonly edge: string;
}

export interface ShareMove {
  /** A removed JobInfo: its task is somewhere else now, or nowhere. */
  readonly left: EdgeShare | undefined;
  readonly now: EdgeShare | undefined;
  readonly isNew: boolean;
}

/** The shares of one job, by the indexes of their tasks. */
export class JobShares {
  readonly job: JobName;
  readonly #byIndex = new Map<number, EdgeShare>();

  constructor(job: JobName) {
    this.job = job;
  }

  /** In the order of placement. */
  get all(): IterableIterator<EdgeShare> {
    return this.#byIndex.values();
  }

  get size(): number {
    return this.#byIndex.size;
  }

  at(index: number): EdgeShare | undefined {
    return this.#byIndex.get(index);
  }

  /** `place`: the place of the task; undefined: no edge. */
  put(task: ShareTaskView, place: EdgePlace | undefined): ShareMove {
    const before = this.#byIndex.get(task.index);
    if (before !== undefined && isSame(before, task, place)) {
      const now = { ...before, task };
      this.#byIndex.set(task.index, now);
      return { left: undefined, now, isNew: false };
    }
    this.#byIndex.delete(task.index);
    if (place === undefined) return { left: before, now: undefined, isNew: false };
    const now = { ...place, name: this.#nameFor(place), job: this.job, task };
    this.#byIndex.set(task.index, now);
    return { left: before, now, isNew: true };
  }

  #nameFor({ site, edge }: EdgePlace): string {
    const taken = new Set<string>();
    for (const share of this.#byIndex.values()) {
      if (share.site === site && share.edge === edge) taken.add(share.name);
    }
    const name = shareNameOf(this.job, edge);
    for (let count = 1; ; count++) {
      const next = count === 1 ? name : `${name}.${count}`;
      if (!taken.has(next)) return next;
    }
  }
}

const isSame = (share: EdgeShare, task: ShareTaskView, place: EdgePlace | undefined): boolean =>
  // An ended share stays at its place.
  (place === undefined && isOver(task)) ||
  (share.task.attempt === task.attempt && share.site === place?.site && share.edge === place.edge);

/** The present and finished work of the tree's edges, by node name. */
export class NodeShares {
  readonly #open = new Map<string, Map<string, EdgeShare>>();
  readonly #revisions = new Map<string, number>();
  readonly #done = new Map<string, { count: number; energy: number }>();
  readonly #sites = new SiteShares();

  note(before: EdgeShare | undefined, now: EdgeShare | undefined, node: string | undefined): void {
    if (before !== undefined) this.#remove(before);
    if (now === undefined || node === undefined) return;
    this.#revisions.set(node, Math.max(this.#revisions.get(node) ?? 0, now.task.revision));
    if (isOver(now.task)) {
      const done = this.#done.get(node) ?? { count: 0, energy: 0 };
      done.count += now.task.state === "succeeded" ? 1 : 0;
      done.energy += now.task.share?.doneWattSeconds ?? 0;
      this.#done.set(node, done);
      return;
    }
    let open = this.#open.get(node);
    if (open === undefined) this.#open.set(node, (open = new Map()));
    open.set(now.task.id, now);
    this.#sites.add(now);
  }

  /** Also for a job that is no longer retained: its numbers are removed with it. */
  #remove(share: EdgeShare): void {
    const { task } = share;
    const { node } = task;
    if (node === undefined) return;
    if (!isOver(task)) {
      if (this.#open.get(node)?.delete(task.id) === true) this.#sites.remove(share);
      return;
    }
    const done = this.#done.get(node);
    if (done === undefined) return;
    done.count -= task.state === "succeeded" ? 1 : 0;
    done.energy -= task.share?.doneWattSeconds ?? 0;
  }

  remove(share: EdgeShare): void {
    this.#remove(share);
  }

  of(node: string) {
    const done = this.#done.get(node);
    const open = [...(this.#open.get(node)?.values() ?? [])];
    open.sort((a, b) => (a.task.assignedAtMs ?? 0) - (b.task.assignedAtMs ?? 0));
    const revision = this.#revisions.get(node) ?? 0;
    return { open, completed: done?.count ?? 0, served: done?.energy ?? 0, revision };
  }

  /** The group of all shares under way at a site, if there is only one. */
  groupOf(site: string, given: string | undefined): string | undefined {
    return this.#sites.groupOf(site, given);
  }

  isBusy(node: string): boolean {
    return (this.#open.get(node)?.size ?? 0) > 0;
  }

  get energyDone(): number {
    let sum = 0;
    for (const { energy } of this.#done.values()) sum += energy;
    return sum;
  }
}
