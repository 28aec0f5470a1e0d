import type { JgfDocument } from "../../../core/graph/jgf.ts";
import { addInto, type Resources, toResources } from "../../../core/model/resources.ts";
import type { Cluster, Node } from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ClusterObservation, ClusterSource } from "../../../ports/cluster-source.ts";
import { isToldBy } from "../../cluster/description.ts";
import type { SitePower } from "./energy/site-power.ts";
import type { SiteTerms } from "./lower-spec.ts";
import type { SiteApi } from "./site-api.ts";
import { type ClusterBelow, isSiteNode, siteGraph, siteSubsystems } from "./site-graph.ts";

export interface SiteSourceOptions extends SiteTerms {
  readonly api: SiteApi;
  /** Receives the nodes' power for shares of jobs with energy. */
  readonly power?: Pick<SitePower, "observing" | "notObserved"> | undefined;
  /** The resources of pull clusters below changed since the last lookup; no node event reports that. */
  onShape(): void;
}

/** The resources of the Busbar below: its nodes, its pull clusters, and the sites below those. */
export function createSiteSource(options: SiteSourceOptions): ClusterSource {
  const { api, cluster: site, below, group } = options;
  let lastShape: string | undefined;
  let isCircle = false;

  async function clusters(): Promise<readonly Cluster[]> {
    const all = (await api.listClusters({})).clusters;
    const own = all.filter(({ name }) => below === undefined || name === below);
    if (below === undefined || own.length > 0) return own;
    throw new AppError("unavailable", `the Busbar at ${api.server} has no cluster ${below}`);
  }

  /** All nodes; a site that is below itself would count its own edges again and again. */
  async function nodes(): Promise<readonly Node[]> {
    const observed = options.power?.observing();
    try {
      const found = await listed();
      if (isCircle) options.power?.notObserved();
      else observed?.(found);
      return found;
    } catch (error) {
      options.power?.notObserved();
      throw error;
    }
  }

  async function listed(): Promise<readonly Node[]> {
    const found: Node[] = [];
    let pageToken: string | undefined;
    do {
      const page = await api.listNodes({
        pageSize: limits.pageSizeMax,
        ...(below === undefined ? {} : { cluster: below }),
        ...(pageToken === undefined ? {} : { pageToken }),
      });
      found.push(...page.nodes.filter(({ isClusterAgent }) => !isClusterAgent));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined && found.length < limits.siteNodesMax);
    return found;
  }

  return {
    async describe() {
      const there = (await clusters()).filter(isSomething);
      if (there.length === 0) throw new AppError("unavailable", `${api.server} has no nodes yet`);
      const described: ClusterBelow[] = [];
      for (const { name } of there) described.push(await describeBelow(api, name));
      const circle = circleIn(described, options);
      isCircle = circle !== undefined;
      if (circle !== undefined) throw circle;
      const graph = siteGraph(site, described, await nodes());
      return { graph, subsystems: siteSubsystems(site, described) };
    },

    async observe() {
      const asked = [clusters(), nodes(), api.countJobs({}), api.listGroups({})] as const;
      const [all, own, { tasks }, { groups }] = await Promise.all(asked);
      const used = groups.find(({ name }) => name === group)?.used ?? {};
      const shape = shapeOf(all);
      if (shape !== lastShape) options.onShape();
      lastShape = shape;
      const running = Number(tasks?.running ?? 0n) + Number(tasks?.stopping ?? 0n);
      const waiting = [tasks?.pending, tasks?.waiting, tasks?.offered, tasks?.assigned];
      const queued = waiting.reduce((sum, count) => sum + Number(count ?? 0n), 0);
      return { ...observationOf(all, own, { running, queued }), own: amountsOf(used) };
    },
  };
}

const shapeOf = (clusters: readonly Cluster[]): string =>
  JSON.stringify(
    clusters.map(({ name, kind, vertices, subsystems }) => [
      name,
      kind === "pulling" ? vertices : {},
      subsystems.map((each) => [each.name, each.vertices, each.links]),
    ]),
    (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value),
  );

/** A managed cluster without nodes is left out. */
const isSomething = ({ kind, nodes }: Cluster): boolean => kind === "pulling" || nodes > 0;

async function describeBelow(api: SiteApi, name: string): Promise<ClusterBelow> {
  const { subsystems } = await api.getCluster({ name });
  const parse = ({ graph }: { readonly graph: string }): JgfDocument =>
    JSON.parse(graph) as JgfDocument;
  const graph = parse(await api.getClusterGraph({ name }));
  const told: { name: string; document: JgfDocument }[] = [];
  for (const each of subsystems) {
    const document = parse(await api.getSubsystem({ cluster: name, name: each.name }));
    told.push({ name: each.name, document });
  }
  return { name, graph, subsystems: told };
}

/** A graph from this same agent would be registered again and again, and jobs would circulate. */
function circleIn(
  clusters: readonly ClusterBelow[],
  { cluster: site, fingerprint }: SiteSourceOptions,
): AppError | undefined {
  for (const { name, graph } of clusters) {
    const vertices = Object.values(graph.graph.nodes);
    if (!vertices.some(({ metadata }) => isToldBy(metadata, fingerprint))) continue;
    return new AppError(
      "invalid_argument",
      `site ${site} contains itself: its cluster ${name} was registered by this agent; ` +
        `stop the agent of ${name}, or name another cluster of the site (--partition)`,
    );
  }
  return undefined;
}

const CPU = 1_000; // of one core
const READY = "connected";

/** The state of pull clusters below, by the name of the resource. */
const TOLD: Readonly<Record<string, { readonly key: string; readonly units: number }>> = {
  cpu: { key: "cores_free", units: CPU },
  gpu: { key: "gpus_free", units: 1 },
  memory: { key: "memory_free", units: 1 },
  power: { key: "power_free", units: 1 },
};

/** Nodes that accept no tasks now have no free capacity. */
export function observationOf(
  clusters: readonly Cluster[],
  all: readonly Node[],
  { running, queued }: { readonly running: number; readonly queued: number },
): ClusterObservation {
  const nodes = all.filter((node) => !isSiteNode(node));
  const ready = nodes.filter(({ state }) => state === READY);
  const free: Record<string, number> = {};
  const total: Record<string, number> = {};
  for (const { capacity } of nodes) addInto(total, amountsOf(capacity));
  for (const { capacity, used } of ready) {
    const taken = amountsOf(used);
    for (const [name, amount] of Object.entries(amountsOf(capacity))) {
      addInto(free, { [name]: Math.max(0, amount - (taken[name] ?? 0)) });
    }
  }
  const pulling = clusters.filter(({ kind }) => kind === "pulling").map(toldOf);
  const sum = (key: string): number => pulling.reduce((all, told) => all + (told.get(key) ?? 0), 0);
  for (const [name, { key, units }] of Object.entries(TOLD)) {
    if (pulling.length === 0) break;
    // A cluster that does not report an amount may have any.
    if (pulling.every((told) => told.has(key))) addInto(free, { [name]: sum(key) * units });
    else if (name !== "cpu") delete free[name];
  }
  const nodesFree = ready.filter(({ tasks }) => tasks === 0).length + sum("nodes_free");
  return {
    state: {
      nodes_total: nodes.length + sum("nodes_total"),
      nodes_up: ready.length + pulling.reduce((all, told) => all + upOf(told), 0),
      nodes_free: nodesFree,
      cores_total: (total["cpu"] ?? 0) / CPU + sum("cores_total"),
      cores_free: (free["cpu"] ?? 0) / CPU,
      ...freeOf(free, total),
      ...wattsOf(all),
      running,
      queue_length: queued,
    },
    free: { ...free, nodes: nodesFree },
  };
}

/** The power of its nodes for shares of jobs with energy; it changes too often for a graph. */
function wattsOf(nodes: readonly Node[]): Readonly<Record<string, number>> {
  const ready = nodes.filter(({ state }) => state === READY);
  const watts = ready.reduce((sum, { power }) => sum + Number(power?.watts ?? 0n), 0);
  return watts > 0 ? { watts } : {};
}

const upOf = (told: ReadonlyMap<string, number>): number =>
  told.get("nodes_up") ?? told.get("nodes_total") ?? 0;

/** Only resources that the site has, or may have. */
function freeOf(free: Resources, total: Resources): Readonly<Record<string, number>> {
  const told: Record<string, number> = {};
  for (const [name, { key }] of Object.entries(TOLD)) {
    if (name === "cpu" || free[name] === undefined) continue;
    if (free[name] > 0 || (total[name] ?? 0) > 0) told[key] = free[name];
  }
  return told;
}

const amountsOf = (amounts: Readonly<Record<string, number>>): Resources =>
  toResources(amounts, "amounts", limits.resourceNamesMax);

const toldOf = ({ state }: Cluster): ReadonlyMap<string, number> =>
  new Map(
    state.flatMap(({ key, value }) =>
      value?.value.case === "number" ? [[key, value.value.value] as const] : [],
    ),
  );
