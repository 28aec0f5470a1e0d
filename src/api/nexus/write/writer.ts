import { AppError } from "../../../lib/errors.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { OldEdges } from "../edges/old-edges.ts";
import { KINDS, type NexusKind, type Served } from "../model/kinds.ts";
import { displayOf, hashName, type Path, treeLabels } from "../model/names.ts";
import { type NexusObject, timestamp } from "../model/object.ts";
import { type EdgeShare, isOver } from "../model/project.ts";
import type { Reader } from "../tree/reader.ts";
import type { Ref } from "../tree/name-index.ts";
import { noteId } from "../tree/notes-book.ts";
import { ownLabels, placeOf, type Received } from "./received.ts";
import { alreadyExists, jobSpecOf, NewJobs } from "./new-jobs.ts";
import { notedAt, pathOfRef } from "./noted.ts";
import { assignShare, isEndedShare, reportShare } from "./shares.ts";

export interface WriterOptions {
  readonly reader: Reader;
  readonly edges: OldEdges;
  /** Whether an external scheduler creates JobInfos, and deletes them. */
  readonly isSchedulerExternal: boolean;
  readonly nowMs: () => number;
}

/** The object to create. */
interface Creation {
  readonly path: Path;
  readonly received: Received;
  readonly labels: Readonly<Record<string, string>>;
  readonly isDry: boolean;
}

/** Changes the counterparts of objects: jobs, groups, nodes, and notes for values without another place. */
export class Writer {
  readonly #options: WriterOptions;
  readonly #newJobs: NewJobs;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#newJobs = new NewJobs(options.reader);
  }

  get #reader(): Reader {
    return this.#options.reader;
  }

  /** Throws `already_exists`. With `isDry` nothing is changed. */
  async create(
    operations: Operations,
    { kind }: Served,
    received: Received,
    isDry: boolean,
  ): Promise<NexusObject> {
    const path = placeOf(kind, received);
    const labels = ownLabels(kind, path, received.labels);
    await this.#reader.caughtUp();
    const known = this.#reader.tree.at(kind, path);
    if (kind.isSingleton || (known !== undefined && !isEndedShare(known))) {
      throw alreadyExists(kind, path);
    }
    const { annotations } = received;
    switch (kind.kind) {
      case "Job":
        return this.#createJob(operations, { path, received, labels, isDry });
      case "JobInfo":
        return this.#createShare(operations, { path, received, labels, isDry });
      case "Jobgroup":
      case "Site":
      case "SiteDC":
        if (!isDry) await this.#declare(operations, kind, path, { labels, annotations });
        break;
      case "Edge":
      case "EdgeDC":
        if (!isDry) {
          const [site = "", edge = ""] = path;
          await this.#options.edges.attach(site, edge);
          await this.#note(operations, await this.#refAt(kind, path), { labels, annotations });
        }
        break;
      case "PowerScheduler":
      case "Config":
      case "Inventory":
      case "DesiredSiteConfig":
      case "SchedulerConfig":
        throw new AppError("internal", `${kind.kind} is always there`);
    }
    return isDry
      ? dry(kind, path, received, this.#options.nowMs())
      : this.#shown(operations, kind, path);
  }

  async #refAt(kind: NexusKind, path: Path): Promise<Ref> {
    await this.#reader.caughtUp();
    const ref = this.#reader.tree.at(kind, path);
    if (ref === undefined) throw new AppError("internal", `${kind.kind} was made and is not there`);
    return ref;
  }

  async #shown(operations: Operations, kind: NexusKind, path: Path): Promise<NexusObject> {
    return this.#reader.show(operations, await this.#refAt(kind, path));
  }

  async #declare(
    operations: Operations,
    kind: NexusKind,
    path: Path,
    said: Pick<Received, "labels" | "annotations">,
  ): Promise<void> {
    const name = displayOf(path);
    if (kind.kind === "Jobgroup") await operations.putGroup({ name });
    const note = { ...said, declaredAtMs: this.#options.nowMs() };
    await operations.putNotes([{ id: noteId(kind.kind, name), note }]);
  }

  async #createShare(
    operations: Operations,
    { path, received, labels, isDry }: Creation,
  ): Promise<NexusObject> {
    if (!this.#options.isSchedulerExternal) {
      throw new AppError(
        "permission_denied",
        "Busbar's scheduler assigns edges, and creates JobInfos by itself " +
          "(--nexus-external-scheduler leaves that to an external one)",
      );
    }
    const ref = await assignShare(operations, this.#reader, { path, received, isDry });
    if (ref === undefined) return dry(KINDS.JobInfo, path, received, this.#options.nowMs());
    await this.#note(operations, ref, { labels, annotations: received.annotations });
    await this.#reader.caughtUp();
    return this.#reader.tree.shareObject(ref.share);
  }

  async #createJob(
    operations: Operations,
    { path, received, labels, isDry }: Creation,
  ): Promise<NexusObject> {
    const spec = jobSpecOf(path, received, labels);
    if (isDry) return dry(KINDS.Job, path, received, this.#options.nowMs());
    const { annotations } = received;
    const id = await this.#newJobs.submit(operations, spec);
    if (Object.keys(annotations).length > 0) {
      const note = { labels: {}, annotations };
      await operations.putNotes([{ id: noteId("Job", id), note }]);
    }
    return this.#shown(operations, KINDS.Job, path);
  }

  /** Replaces labels and annotations; everything else must be unchanged. */
  async update(
    operations: Operations,
    { kind }: Served,
    present: { readonly ref: Ref | undefined; readonly object: NexusObject },
    received: Received,
    isDry: boolean,
  ): Promise<NexusObject> {
    const { object, ref } = present;
    checkVersion(object, received);
    const spec = (object.spec ?? {}) as Readonly<Record<string, unknown>>;
    for (const [name, value] of Object.entries(received.spec)) {
      if (name.endsWith("Gvk") || isDeepEqual(value, spec[name] ?? 0)) continue;
      throw new AppError(
        "unschedulable",
        "cannot be changed: delete the object and create another",
        {
          field: `spec.${name}`,
        },
      );
    }
    const labels = { ...received.labels };
    for (const [name, value] of Object.entries(object.metadata.labels)) {
      // Callers need not send labels that follow from the tree.
      if (labels[name] === undefined && isGiven(kind, name)) labels[name] = value;
    }
    const path = pathOfRef(ref);
    const own = ownLabels(kind, path, labels);
    const { annotations } = received;
    const same =
      isDeepEqual(labels, object.metadata.labels) &&
      isDeepEqual(annotations, object.metadata.annotations ?? {});
    if (same || isDry)
      return same ? object : { ...object, metadata: { ...object.metadata, labels, annotations } };
    await this.#note(operations, ref ?? kind, { labels: own, annotations });
    await this.#reader.caughtUp();
    return ref === undefined
      ? this.#reader.get(operations, kind, "default")
      : this.#reader.show(operations, ref);
  }

  async #note(
    operations: Operations,
    of: Ref | NexusKind,
    said: Pick<Received, "labels" | "annotations">,
  ): Promise<void> {
    const { tree } = this.#reader;
    const { id } = notedAt(of);
    const known = tree.notes.get(id);
    if (
      known === undefined &&
      Object.keys(said.labels).length + Object.keys(said.annotations).length === 0
    )
      return;
    if ("job" in of) tree.prime(await operations.getJob(of.job.id));
    const { declaredAtMs } = known ?? {};
    const note = { ...said, ...(declaredAtMs === undefined ? {} : { declaredAtMs }) };
    await operations.putNotes([{ id, note, ifVersion: known?.version ?? 0 }]);
  }

  /** Changes only the status, and only fields of it that belong to the agent. */
  async updateStatus(
    operations: Operations,
    { kind }: Served,
    present: { readonly ref: Ref | undefined; readonly object: NexusObject },
    received: Received,
  ): Promise<NexusObject> {
    const { ref, object } = present;
    const { edges } = this.#options;
    if (ref?.kind === "JobInfo") {
      checkVersion(object, received);
      const nowMs = this.#options.nowMs();
      await reportShare({ edges, nowMs, tree: this.#reader.tree }, ref.share, received);
    } else if (ref?.kind === "Edge") {
      const node = this.#reader.tree.nodes.get(ref.node);
      const { totalPowerAvailable = 0 } = (received.state["powerInfo"] ?? {}) as {
        totalPowerAvailable?: number;
      };
      if (node !== undefined) await edges.power(node, totalPowerAvailable);
    }
    await this.#reader.caughtUp();
    // Busbar owns the status of all other objects, and ignores writes to it.
    return this.#reader.get(operations, kind, object.metadata.name);
  }

  async remove(operations: Operations, ref: Ref): Promise<void> {
    await this.#remove(operations, ref);
    await this.#reader.caughtUp();
  }

  async #remove(operations: Operations, ref: Ref): Promise<void> {
    const { tree } = this.#reader;
    switch (ref.kind) {
      case "Job": {
        const { id } = ref.job;
        const job = await operations.getJob(id);
        if (!isOver(job)) await operations.cancelJob(id, "deleted through the nexus door");
        tree.prime(await operations.getJob(id));
        return this.#hide(operations, ref);
      }
      case "JobInfo":
        if (!isOver(ref.share.task)) await this.#takeBack(operations, ref.share);
        return this.#hide(operations, ref);
      case "Jobgroup":
        return this.#removeGroup(operations, ref.name);
      case "Edge":
      case "EdgeDC":
        return this.#removeNode(operations, ref.node);
      case "Site":
      case "SiteDC": {
        for (const node of tree.nodes.values()) {
          if (node.cluster === ref.name) await this.#removeNode(operations, node.name);
        }
        const ids = (["Site", "SiteDC"] as const).map((one) => noteId(one, ref.name));
        await operations.putNotes(ids.map((id) => ({ id })));
        await operations.deleteCluster(ref.name).catch(unless("not_found"));
        return;
      }
    }
  }

  /** Its finished work counts; the rest is assigned again. */
  async #takeBack(operations: Operations, { task }: EdgeShare): Promise<void> {
    if (!this.#options.isSchedulerExternal) {
      throw new AppError(
        "permission_denied",
        "Busbar's scheduler assigns edges; delete the Job to end all of its shares",
      );
    }
    await operations.cancelJob(task.id, "its JobInfo was deleted");
  }

  async #hide(operations: Operations, ref: Ref): Promise<void> {
    const { id } = notedAt(ref);
    const known = this.#reader.tree.notes.get(id);
    const { labels = {}, annotations = {} } = known ?? {};
    await operations.putNotes([{ id, note: { labels, annotations, isHidden: true } }]);
  }

  /** With all of its jobs. Busbar retains the group while it retains a job of it. */
  async #removeGroup(operations: Operations, name: string): Promise<void> {
    const { tree } = this.#reader;
    for (const job of tree.jobs()) {
      if (job.group === name) await this.#remove(operations, { kind: "Job", job });
    }
    await this.#hide(operations, { kind: "Jobgroup", name });
    await operations.removeGroup(name).catch(unless("conflict", "not_found"));
  }

  async #removeNode(operations: Operations, node: string): Promise<void> {
    const { edges } = this.#options;
    if (edges.isOld(node)) edges.detach(node);
    for (let tries = 0; ; tries++) {
      try {
        await operations.removeNode(node);
        return;
      } catch (error) {
        // The end of its link is a separate command.
        const isLinked =
          error instanceof AppError && error.code === "conflict" && edges.isOld(node);
        if (!isLinked || tries >= limits.nexusRemoveTries) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

const unless =
  (...codes: readonly AppError["code"][]) =>
  (error: unknown): void => {
    if (!(error instanceof AppError && codes.includes(error.code))) throw error;
  };

function checkVersion({ metadata }: NexusObject, { resourceVersion, uid }: Received): void {
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw new AppError(
      "conflict",
      "the object has been modified; please apply your changes to the latest version and try again",
    );
  }
  if (uid !== undefined && uid !== metadata.uid) {
    throw new AppError("conflict", `it is another object now: its uid is ${metadata.uid}`);
  }
}

const isGiven = (kind: NexusKind, name: string): boolean =>
  name.startsWith("nexus/") || kind.ancestors.some((ancestor) => KINDS[ancestor].crd === name);

/** The object that would have been created. */
function dry(kind: NexusKind, path: Path, received: Received, nowMs: number): NexusObject {
  const { labels, annotations, spec } = received;
  const metadata = {
    name: hashName(kind, path),
    uid: "",
    resourceVersion: "",
    generation: 1,
    creationTimestamp: timestamp(nowMs),
    labels: { ...labels, ...treeLabels(kind, path) },
    annotations,
  };
  return {
    apiVersion: `${kind.group}/v1`,
    kind: kind.kind,
    metadata,
    spec,
  } as unknown as NexusObject;
}
