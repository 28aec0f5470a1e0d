import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { KINDS, type NexusKind } from "../model/kinds.ts";
import { DEFAULT, DISPLAY_NAME, hashName, isHashed, pathOf } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import {
  type SchedulerStats,
  schedulerObject,
  singletonObject,
  type EdgeShare,
} from "../model/project.ts";
import type { Selector } from "../model/selectors.ts";
import type { Rates } from "./rates.ts";
import type { Ref } from "./name-index.ts";
import type { Tree } from "./tree.ts";

export interface ListPage {
  readonly objects: readonly NexusObject[];
  /** The position of the next page; undefined: there is none. */
  readonly next?: string;
}

export interface PageQuery {
  readonly selector: Selector;
  readonly limit: number;
  readonly from: string | undefined;
}

export interface ReaderOptions {
  readonly tree: Tree;
  readonly rates: Rates;
  readonly nowMs: () => number;
  /** The revision of the state that the tree shows. */
  readonly revision: () => number;
  readonly caughtUp: () => Promise<void>;
}

/** Reads objects: jobs through operations, all others from the tree. */
export class Reader {
  readonly tree: Tree;
  readonly #options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.tree = options.tree;
    this.#options = options;
  }

  get revision(): number {
    return this.#options.revision();
  }

  /** Resolves when the tree shows all that is durable by now: await this after a change, before reading it. */
  caughtUp(): Promise<void> {
    return this.#options.caughtUp();
  }

  /** By its name, hashed or for people. Throws `not_found`. */
  async get(operations: Operations, kind: NexusKind, name: string, parents?: Selector) {
    if (kind.isSingleton) {
      if (name === DEFAULT || name === hashName(kind, [])) return this.#singleton(operations, kind);
      throw notFound(kind, name);
    }
    return this.show(operations, this.find(kind, name, parents));
  }

  /** `parents`: labels that select one of several. */
  find(kind: NexusKind, name: string, parents?: Selector): Ref {
    if (!isHashed(name)) {
      const exact = this.tree.at(kind, pathOf(kind, name, parents?.equal ?? {}));
      if (exact !== undefined) return exact;
    }
    const [found, ...others] = this.tree.find(kind, name);
    if (found === undefined) throw notFound(kind, name);
    if (others.length === 0) return found;
    throw invalid(
      "name",
      `there are ${others.length + 1} ${kind.plural} ${JSON.stringify(name)} in different places; ` +
        "name one by its hash (-o wide shows it)",
    );
  }

  async show(operations: Operations, ref: Ref): Promise<NexusObject> {
    const { tree } = this;
    switch (ref.kind) {
      case "Job":
        return tree.jobObject(await operations.getJob(ref.job.id));
      case "JobInfo":
        return tree.shareObject(ref.share);
      case "Edge":
      case "EdgeDC": {
        const node = tree.nodes.get(ref.node);
        if (node === undefined) throw notFound(KINDS[ref.kind], ref.node);
        return ref.kind === "Edge" ? tree.edgeObject(node) : tree.edgeDcObject(node);
      }
      case "Site":
      case "SiteDC":
      case "Jobgroup": {
        const { kind, name } = ref;
        const known = (kind === "Jobgroup" ? tree.groups : tree.sites).get(name);
        if (known === undefined) throw notFound(KINDS[kind], name);
        if (kind === "Jobgroup") return tree.groupObject(known);
        return kind === "Site" ? tree.siteObject(known) : tree.siteDcObject(known);
      }
    }
  }

  async #singleton(operations: Operations, { kind }: NexusKind): Promise<NexusObject> {
    const { tree } = this;
    const notes = tree.notes.of(kind, DEFAULT);
    if (kind !== "SchedulerConfig") {
      return singletonObject(kind as Parameters<typeof singletonObject>[0], tree, notes);
    }
    const stats = await this.#stats(operations);
    return schedulerObject(stats, { createdMs: tree.sinceMs, revision: this.revision }, notes);
  }

  async #stats(operations: Operations): Promise<SchedulerStats> {
    const { tree } = this;
    const { rates, nowMs } = this.#options;
    const { jobs } = await operations.stats();
    const busyEdgesPerSite = new Map<string, number>();
    let freeEdges = 0;
    for (const node of tree.nodes.values()) {
      if (tree.work.isBusy(node.name)) {
        busyEdgesPerSite.set(node.cluster, (busyEdgesPerSite.get(node.cluster) ?? 0) + 1);
      } else if (node.power !== undefined && node.state === "connected") freeEdges++;
    }
    const { pending, running, accepted, ...ended } = jobs;
    return {
      jobsEnded: Object.values(ended).reduce((sum, count) => sum + count, 0),
      energyDone: tree.work.energyDone,
      jobsQueued: pending,
      jobsRunning: running + accepted,
      freeEdges,
      busyEdgesPerSite,
      rate1Min: rates.over(60, nowMs()),
      rate10Sec: rates.over(10, nowMs()),
    };
  }

  /** A page may be short, even empty, and still have a next one. */
  async page(operations: Operations, kind: NexusKind, query: PageQuery): Promise<ListPage> {
    const { selector, limit, from } = query;
    const fits = (objects: readonly NexusObject[]): readonly NexusObject[] =>
      selector.isAll ? objects : objects.filter((object) => selector.fits(object));
    if (kind.isSingleton) return { objects: fits([await this.#singleton(operations, kind)]) };
    if (kind.kind === "Job") return this.#jobs(operations, query);
    if (kind.kind === "JobInfo") {
      const { shares, next } = this.#shares(query);
      const objects = fits(shares.map((share) => this.tree.shareObject(share)));
      return { objects, ...(next === undefined ? {} : { next }) };
    }
    const { keys, next } = keysAfter(this.#keys(kind, selector), limit, from);
    const objects = fits(keys.map((key) => this.#objectAt(kind, key)));
    return { objects, ...(next === undefined ? {} : { next }) };
  }

  async #jobs(operations: Operations, { selector, limit, from }: PageQuery): Promise<ListPage> {
    const { [DISPLAY_NAME]: display = selector.name, [KINDS.Jobgroup.crd]: group } = selector.equal;
    if (display !== undefined) return this.#jobsNamed(operations, display, selector);
    const pageSize = Math.min(limit, limits.pageSizeMax);
    const filter = group === undefined ? {} : { group };
    const page = await operations.listJobs(filter, { pageSize, pageToken: from });
    const objects = page.jobs
      .filter(({ id }) => this.tree.job(id) !== undefined)
      .map((view) => this.tree.jobObject(view))
      .filter((object) => selector.isAll || selector.fits(object));
    const { nextPageToken: next } = page;
    return { objects, ...(next === undefined ? {} : { next }) };
  }

  /** Names are an index: no list is needed. */
  async #jobsNamed(operations: Operations, name: string, selector: Selector): Promise<ListPage> {
    const found = this.tree.find(KINDS.Job, name);
    const objects = await Promise.all(found.map((ref) => this.show(operations, ref)));
    return { objects: objects.filter((object) => selector.fits(object)) };
  }

  #shares({ limit, from, selector: { equal } }: PageQuery) {
    const { [KINDS.SiteDC.crd]: site, [KINDS.EdgeDC.crd]: edge } = equal;
    const isThere = (share: EdgeShare): boolean =>
      (site === undefined || share.site === site) && (edge === undefined || share.edge === edge);
    const after = from === undefined ? 0 : Number(from);
    if (!Number.isSafeInteger(after)) throw badContinue();
    const shares: EdgeShare[] = [];
    // Shares of one job stay together.
    for (const [job, some] of this.tree.allShares(after)) {
      for (const share of some) if (isThere(share)) shares.push(share);
      if (shares.length >= limit) return { shares, next: String(job) };
    }
    return { shares, next: undefined };
  }

  #keys({ kind }: NexusKind, { equal }: Selector): readonly string[] {
    const { nodes, sites, groups } = this.tree;
    const site = equal[(kind === "Edge" ? KINDS.Site : KINDS.SiteDC).crd];
    if (kind.startsWith("Edge") && site !== undefined) {
      return [...nodes.values()]
        .flatMap(({ name, cluster }) => (cluster === site ? [name] : []))
        .sort();
    }
    const all = kind === "Jobgroup" ? groups : kind.startsWith("Edge") ? nodes : sites;
    return [...all.keys()].sort();
  }

  #objectAt({ kind }: NexusKind, key: string): NexusObject {
    const { tree } = this;
    const { nodes, sites, groups } = tree;
    if (kind === "Jobgroup") return tree.groupObject(known(groups.get(key)));
    if (kind === "Edge") return tree.edgeObject(known(nodes.get(key)));
    if (kind === "EdgeDC") return tree.edgeDcObject(known(nodes.get(key)));
    const site = known(sites.get(key));
    return kind === "Site" ? tree.siteObject(site) : tree.siteDcObject(site);
  }
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new AppError("internal", "an object vanished while it was listed");
  return value;
}

function keysAfter(keys: readonly string[], limit: number, from: string | undefined) {
  const start = from === undefined ? 0 : keys.findIndex((key) => key > from);
  if (start < 0) return { keys: [], next: undefined };
  const some = keys.slice(start, start + limit);
  return { keys: some, next: start + limit < keys.length ? some.at(-1) : undefined };
}

export const notFound = (kind: NexusKind, name: string): AppError =>
  new AppError("not_found", `${kind.crd} ${JSON.stringify(name.slice(0, 100))} not found`);

export const badContinue = (): AppError =>
  invalid("continue", "is not from an answer of this list; list again without it");
