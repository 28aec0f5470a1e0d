import { KINDS, type NexusKind, type KindName } from "../model/kinds.ts";
import type { Path } from "../model/names.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import type { NexusObject } from "../model/object.ts";
import {
  edgeOf,
  edgePath,
  type EdgeShare,
  jobObject,
  type JobName,
  jobPath,
  nameOfJob,
  sharePath,
  siteDcObject,
  type SiteRef,
} from "../model/project.ts";
import type { EnergyJobView, PowerNodeView, ShareTaskView } from "../model/views.ts";
import { Asides, GoneShares } from "./gone.ts";
import { JobShares } from "./job-shares.ts";
import { TreeObjects } from "./tree-objects.ts";
import { at, goneJob, splitId } from "./shown.ts";
import { NameIndex, type Ref } from "./name-index.ts";
import type { KnownNote } from "./notes-book.ts";

interface EarlyTask {
  readonly task: ShareTaskView;
  readonly revision: number;
}

/**
 * The tree as it follows from Busbar's rows: names, which lead to rows, and the data that objects show from rows of other tables. It
 * receives every durable event before any watch does. Jobs themselves are not held: there may be a million.
 */
export class Tree extends TreeObjects {
  readonly asides = new Asides();
  /** Removed JobInfos, by their names. */
  readonly goneShares = new GoneShares();
  /** Tasks of jobs that are not known yet. */
  readonly #early = new Map<string, readonly EarlyTask[]>();
  /** Jobs that clients have deleted, while Busbar retains them. */
  readonly #hidden = new Set<string>();
  /** Jobs that have not ended. */
  readonly #open = new Set<string>();
  readonly #names = new NameIndex();
  /** Notified of notes whose job is no longer retained. */
  onOrphans: (ids: readonly string[]) => void = () => undefined;
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #siteGroup = new Map<string, string | undefined>();
  // ---- reads

  /** By the name on the wire, or by the name for people. If several objects have the latter: all of them. */
  find(kind: NexusKind, name: string): readonly Ref[] {
    return this.#names.find(kind, name);
  }

  at(kind: NexusKind, path: Path): Ref | undefined {
    return this.#names.at(kind, path);
  }

  /** The revision of the event that an object came with. */
  bornAt(name: string): number {
    return this.#names.bornAt(name);
  }

  job(id: string): JobName | undefined {
    return this.jobNames.get(id);
  }

  jobs(): IterableIterator<JobName> {
    return this.jobNames.values();
  }

  /** All JobInfos, by job. */
  *allShares(afterJob = 0): Generator<readonly [job: number, shares: readonly EdgeShare[]]> {
    for (const [id, shares] of this.jobShares) {
      const job = Number(id);
      if (job <= afterJob || shares.size === 0) continue;
      yield [job, [...shares.all].filter(({ task }) => !this.notes.isHidden("JobInfo", task.id))];
    }
  }

  // ---- events

  /** A client is about to set a note on this job: its present state. */
  prime(view: EnergyJobView): void {
    this.primed.set(view.id, view);
  }

  putNote(note: KnownNote, revision: number): void {
    const [kind, id] = splitId(note.id);
    const wasHidden = this.notes.isHidden(kind, id);
    const isHidden = note.isHidden === true;
    if (isHidden && !wasHidden) this.#hide(kind, id, revision);
    const before = this.objectOf(kind, id);
    this.notes.put(note);
    if (note.declaredAtMs !== undefined) this.#declare(kind, id, note.declaredAtMs, revision);
    if (!isHidden) this.#retell(kind, id, revision, before);
  }

  dropNote(noteId: string, revision: number): void {
    const [kind, id] = splitId(noteId);
    const before = this.objectOf(kind, id);
    this.notes.drop(noteId);
    this.#retell(kind, id, revision, before);
  }

  #declare(kind: KindName, name: string, createdMs: number, revision: number): void {
    const ref = { name, createdMs, revision };
    if (kind === "Jobgroup") this.putGroup(ref, revision, true);
    if (kind === "Site" || kind === "SiteDC") this.putSite(ref, revision, true);
  }

  #hide(kind: KindName, id: string, revision: number): void {
    if (kind === "Job") {
      this.dropJob(id, revision, this.primed.get(id));
      this.#hidden.add(id);
    }
    if (kind === "Jobgroup") this.dropGroup(id, revision);
    if (kind !== "JobInfo") return;
    const [job = "", index = "0"] = id.split(".");
    const share = this.share(job, Number(index));
    if (share !== undefined) this.#tellGone(share, revision);
  }

  /** The labels of an object have changed. */
  #retell(kind: KindName, id: string, revision: number, before: NexusObject | undefined): void {
    const object = this.objectOf(kind, id);
    if (object === undefined) return;
    if (this.bornAt(object.metadata.name) === revision) return; // watches receive it as new
    this.asides.noteLabels(revision, before, object);
    this.asides.add(revision, { type: "MODIFIED", kind, object: at(object, revision) });
  }

  /** A job has ended; returns whether that was unknown. */
  noteEnd(id: string): boolean {
    return this.#open.delete(id);
  }

  putJob(view: EnergyJobView, revision: number): void {
    if (this.primed.has(view.id)) this.primed.set(view.id, view);
    if (this.jobNames.has(view.id)) return;
    if (this.notes.isHidden("Job", view.id)) {
      this.#hidden.add(view.id);
      return;
    }
    const job = nameOfJob(view);
    this.jobNames.set(job.id, job);
    this.#open.add(job.id);
    this.#names.add(KINDS.Job, jobPath(job), revision, () => {
      const now = this.jobNames.get(job.id);
      return now && { kind: "Job", job: now };
    });
    this.putGroup({ name: job.group, createdMs: this.sinceMs, revision }, revision, true);
    const early = this.#early.get(job.id) ?? [];
    this.#early.delete(job.id);
    for (const { task, revision: of } of early) this.putTask(task, of);
  }

  /** Whether a note belongs to a job that is no longer retained, or to a share of one. */
  isOrphan(noteId: string): boolean {
    const [kind, id] = splitId(noteId);
    if (kind !== "Job" && kind !== "JobInfo") return false;
    const [job = ""] = id.split(".");
    return !this.jobNames.has(job) && !this.#hidden.has(job);
  }

  /** Busbar no longer retains it. */
  removeJob(id: string, revision: number): void {
    const shares = this.sharesOf(id).map(({ task }) => `JobInfo/${task.id}`);
    const ids = [`Job/${id}`, ...shares].filter((note) => this.notes.get(note) !== undefined);
    this.dropJob(id, revision);
    this.#early.delete(id);
    this.#hidden.delete(id);
    if (ids.length > 0) this.onOrphans(ids);
  }

  /** It is removed, or hidden from this door. `last`: its last state, if known. */
  dropJob(id: string, revision: number, last?: EnergyJobView): void {
    const job = this.jobNames.get(id);
    if (job === undefined) return;
    for (const share of this.sharesOf(id)) this.#dropShare(share, revision);
    const object = jobObject(last ?? goneJob(job), [], this.notes.of("Job", id));
    this.asides.add(revision, { type: "DELETED", kind: "Job", object: at(object, revision) });
    this.jobShares.delete(id);
    this.#open.delete(id);
    this.primed.delete(id);
    this.jobNames.delete(id);
    this.#names.remove(KINDS.Job, jobPath(job));
  }

  /** Resolves with the next event of the task, or after a while. */
  async hears(task: string, timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(resolve, timeoutMs);
    const waiting = this.#waiting.get(task) ?? new Set();
    this.#waiting.set(task, waiting.add(resolve));
    await promise;
    clearTimeout(late);
    waiting.delete(resolve);
    if (waiting.size === 0) this.#waiting.delete(task);
  }

  putTask(task: ShareTaskView, revision: number): void {
    if (task.share === undefined) return;
    for (const resolve of this.#waiting.get(task.id) ?? []) resolve();
    const job = this.jobNames.get(task.jobId);
    if (job === undefined) {
      if (!this.#hidden.has(task.jobId)) this.#putEarly(task, revision);
      return;
    }
    let shares = this.jobShares.get(task.jobId);
    if (shares === undefined) this.jobShares.set(task.jobId, (shares = new JobShares(job)));
    const before = shares.at(task.index);
    const { left, now, isNew } = shares.put(task, this.#placeOf(task));
    if (left !== undefined) this.#removeShare(left, revision);
    this.work.note(left === undefined ? before : undefined, now, task.node);
    if (now !== undefined && isNew) {
      const { jobId, index } = task;
      this.#names.add(KINDS.JobInfo, sharePath(now), revision, () => {
        const share = this.jobShares.get(jobId)?.at(index);
        const isHere = share?.name === now.name && share.site === now.site;
        const isShown = isHere && !this.notes.isHidden("JobInfo", share.task.id);
        return isShown ? { kind: "JobInfo", share } : undefined;
      });
    }
    this.#reviewSite((now ?? left)?.site, revision);
  }

  /** The event of a job that is placed at once comes after those of its tasks. */
  #putEarly(task: ShareTaskView, revision: number): void {
    const known = this.#early.get(task.jobId) ?? [];
    this.#early.set(task.jobId, [...known, { task, revision }]);
  }

  #placeOf({ node }: ShareTaskView) {
    const known = node === undefined ? undefined : this.nodes.get(node);
    return known && { site: known.cluster, edge: edgeOf(known) };
  }

  #dropShare(share: EdgeShare, revision: number): void {
    this.#removeShare(share, revision);
    this.#reviewSite(share.site, revision);
  }

  #removeShare(share: EdgeShare, revision: number): void {
    this.work.remove(share);
    if (!this.notes.isHidden("JobInfo", share.task.id)) this.#tellGone(share, revision);
    this.#names.remove(KINDS.JobInfo, sharePath(share));
  }

  #tellGone(share: EdgeShare, revision: number): void {
    const object = at(this.shareObject(share), revision);
    this.goneShares.put(object);
    this.asides.add(revision, { type: "DELETED", kind: "JobInfo", object });
  }

  /** Whether its label has changed. */
  #reviewSite(name: string | undefined, revision: number): void {
    const site = name === undefined ? undefined : this.sites.get(name);
    if (site === undefined) return;
    const group = this.groupOf(site.name);
    const last = this.#siteGroup.get(site.name);
    if (last === group) return;
    this.#siteGroup.set(site.name, group);
    const object = this.siteDcObject(site);
    this.asides.noteLabels(revision, siteDcObject(site, last, this.siteNotes(site)), object);
    this.sites.set(site.name, { ...site, revision });
    this.asides.add(revision, { type: "MODIFIED", kind: "SiteDC", object: at(object, revision) });
  }

  putNode(node: PowerNodeView, revision: number): void {
    const isNew = !this.nodes.has(node.name);
    if (node.isClusterAgent) return;
    this.putSite({ name: node.cluster, createdMs: this.sinceMs, revision }, revision, true);
    const before = this.nodes.get(node.name);
    this.nodes.set(node.name, node);
    if (before !== undefined && !isDeepEqual(before.labels, node.labels)) {
      this.asides.noteLabels(revision, this.edgeObject(before), this.edgeObject(node));
    }
    if (!isNew) return;
    const path = edgePath(node);
    for (const kind of ["Edge", "EdgeDC"] as const) {
      const { name } = node;
      this.#names.add(KINDS[kind], path, revision, () =>
        this.nodes.has(name) ? { kind, node: name, path } : undefined,
      );
    }
    const object = at(this.edgeDcObject(node), revision);
    this.asides.add(revision, { type: "ADDED", kind: "EdgeDC", object });
  }

  dropNode(name: string, revision: number): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    const edge = at(this.edgeObject(node), revision);
    this.asides.add(revision, { type: "DELETED", kind: "Edge", object: edge });
    const desired = at(this.edgeDcObject(node), revision);
    this.asides.add(revision, { type: "DELETED", kind: "EdgeDC", object: desired });
    this.nodes.delete(name);
    for (const kind of ["Edge", "EdgeDC"] as const) this.#names.remove(KINDS[kind], edgePath(node));
  }

  /** `isImplied`: another object names it, and its own row, if any, has more data. */
  putSite(site: SiteRef, revision: number, isImplied = false): void {
    const known = this.sites.get(site.name);
    if (known !== undefined) {
      if (!isImplied) this.sites.set(site.name, { ...site, revision: known.revision });
      return;
    }
    this.sites.set(site.name, site);
    const { name } = site;
    for (const kind of ["Site", "SiteDC"] as const) {
      this.#names.add(KINDS[kind], [name], revision, () =>
        this.sites.has(name) ? { kind, name } : undefined,
      );
    }
    this.#tellOfSite(site, "ADDED", revision);
  }

  dropSite(name: string, revision: number): void {
    const site = this.sites.get(name);
    if (site === undefined) return;
    this.#tellOfSite(site, "DELETED", revision);
    this.sites.delete(name);
    for (const kind of ["Site", "SiteDC"] as const) this.#names.remove(KINDS[kind], [name]);
  }

  #tellOfSite(site: SiteRef, type: "ADDED" | "DELETED", revision: number): void {
    this.asides.add(revision, { type, kind: "Site", object: at(this.siteObject(site), revision) });
    const object = at(this.siteDcObject(site), revision);
    this.asides.add(revision, { type, kind: "SiteDC", object });
  }

  putGroup(group: SiteRef, revision: number, isImplied = false): void {
    const known = this.groups.get(group.name);
    if (known !== undefined) {
      if (!isImplied) this.groups.set(group.name, { ...known, revision });
      return;
    }
    this.groups.set(group.name, group);
    const { name } = group;
    this.#names.add(KINDS.Jobgroup, [name], revision, () =>
      this.groups.has(name) ? { kind: "Jobgroup", name } : undefined,
    );
    const object = at(this.groupObject(group), revision);
    this.asides.add(revision, { type: "ADDED", kind: "Jobgroup", object });
  }

  dropGroup(name: string, revision: number): void {
    const group = this.groups.get(name);
    if (group === undefined) return;
    const object = at(this.groupObject(group), revision);
    this.asides.add(revision, { type: "DELETED", kind: "Jobgroup", object });
    this.groups.delete(name);
    this.#names.remove(KINDS.Jobgroup, [name]);
  }
}
