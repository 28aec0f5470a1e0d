import { parseCounters } from "../../core/graph/cluster-state.ts";
import type { Graph } from "../../core/graph/graph.ts";
import { parseGraph, renderJgf } from "../../core/graph/jgf.ts";
import type { Relinked } from "../../core/graph/subsystems/link-subsystem.ts";
import { ReadGraph } from "../../core/graph/packed-graph.ts";
import { ReadSubsystems, readSubsystems } from "../../core/graph/subsystems/read-subsystems.ts";
import { renderSubsystemJgf, type Subsystem } from "../../core/graph/subsystems/subsystem.ts";
import type { Cluster } from "../../core/model/cluster.ts";
import type { ClusterId } from "../../core/model/ids.ts";
import { checkName, clusterId } from "../../core/model/ids.ts";
import { checkText } from "../../core/model/texts.ts";
import { managedGraph, toDeclared } from "../../core/scheduler/explain/managed-graph.ts";
import { requireCluster } from "../../core/state/decide/clusters.ts";
import { readCondition } from "../../core/state/decide/if-revision.ts";
import type { State } from "../../core/state/state.ts";
import { AppError, invalid, ofDocument, readingDocument, unprocessable } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import {
  ClusterChanges,
  linkAll,
  prepareRelinked,
  prepareSubsystems,
  prepareWithout,
} from "./cluster-changes.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClusterHashes } from "../../core/model/credential.ts";
import type { CommandOf } from "../../core/state/command.ts";
import type { OperationContext } from "./create-operations.ts";
import { newSecret } from "../credentials/credentials.ts";
import { inSlices } from "../loop/in-slices.ts";
import type { AnswerDelivery, ClusterStateInput, CallerOperations } from "./operations.ts";
import { showCluster, showClusters } from "../views/show-clusters.ts";
import type { ClusterView } from "../views/views.ts";

type ClusterOperations = Pick<
  CallerOperations,
  | "listClusters"
  | "getCluster"
  | "registerCluster"
  | "readRegistration"
  | "readSubsystem"
  | "deleteCluster"
  | "getClusterGraph"
  | "addSubsystem"
  | "removeSubsystem"
  | "getSubsystem"
  | "setClusterState"
>;

/** Reads and checks documents outside of the loop: only valid ones become commands. */
export function createClusterOperations({
  loop,
  clock,
  random,
  credentials,
  reader,
}: OperationContext): ClusterOperations {
  const getCluster = (name: string): Promise<ClusterView> =>
    loop.read((state) => showCluster(state, requireCluster(state, clusterId(name))));
  /** gRPC passes documents as text, REST as parsed JSON or already read. */
  const readGraph = async (graph: unknown): Promise<Graph> => {
    if (graph instanceof ReadGraph) return graph.graph;
    return typeof graph === "string"
      ? reader.graph(graph)
      : readingDocument(() => parseGraph(graph));
  };
  const readDrafts = async (document: unknown): Promise<ReadSubsystems> => {
    if (document instanceof ReadSubsystems) return document;
    return typeof document === "string"
      ? reader.subsystem(document)
      : readingDocument(() => readSubsystems(document));
  };
  const changes = new ClusterChanges();
  const replaceGraph = async (id: ClusterId, graph: Graph): Promise<Relinked | undefined> => {
    const { kind } = loop.peek((state) => state.clusters.get(id)) ?? {};
    if (kind !== "pulling") return undefined;
    const before = loop.peek((state) => partsOf(state, id));
    if (before.subsystems.size === 0) return undefined;
    return inSlices(prepareRelinked(before.graph, before.subsystems, graph));
  };
  /**
   * Resolves when the cluster is registered. The next change of the cluster waits until the server knows whether the
   * caller received the answer; if the server cannot record that, the caller may still register again.
   */
  const registerFor = (
    command: CommandOf<"register-cluster">,
    hashes: ClusterHashes,
    delivery: AnswerDelivery,
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      const register = async (): Promise<void> => {
        if (!delivery.isAwaited) throw new AppError("unavailable", "the caller has disconnected");
        const answered = { hashes, isUnclaimed: true };
        await loop.submit({ ...command, credentials: answered, nowMs: clock.nowMs() });
        resolve();
        const isDelivered = await within(clock, limits.answerDeliveryMsMax, delivery.delivered());
        if (!isDelivered) return;
        const { id } = command;
        loop.submit({ kind: "claim-cluster", id, hash: hashes.secret }).catch(() => undefined);
      };
      changes.run(command.id, register).catch(reject);
    });
  return {
    listClusters: () =>
      loop.read((state, revision) => ({ clusters: showClusters(state), revision })),

    getCluster: (_caller, name) => getCluster(name),

    async readRegistration(_caller, body) {
      const { graph, fields } = await reader.registration(body);
      return graph === undefined ? fields : { ...fields, graph: new ReadGraph(graph) };
    },

    readSubsystem: (_caller, body) => reader.subsystem(body),

    async registerCluster(
      { name: by },
      { name, graph, isUpdate = false, withCredentials = false, delivery, ifRevision },
    ) {
      const only = readCondition({ ifRevision });
      const id = clusterId(checkName(name, "name", limits.nameLengthMax));
      const parsed = await readGraph(graph);
      const asked = { graph: parsed, isUpdate, by, ...only };
      const command = { kind: "register-cluster", id, ...asked } as const;
      if (!withCredentials) {
        await changes.run(id, async () => {
          const relinked = isUpdate ? await replaceGraph(id, parsed) : undefined;
          await loop.submit({ ...command, relinked, nowMs: clock.nowMs() });
        });
        return { cluster: await getCluster(name) };
      }
      const issued = { secret: newSecret(random), token: newSecret(random) };
      const hashes = {
        secret: credentials.hashRandom(issued.secret),
        token: credentials.hashRandom(issued.token),
      };
      const nowMs = clock.nowMs();
      if (delivery !== undefined) await registerFor({ ...command, nowMs }, hashes, delivery);
      else {
        const register = { ...command, credentials: { hashes }, nowMs };
        await changes.run(id, () => loop.submit(register));
      }
      const globalToken = delivery && credentials.globalToken;
      return {
        cluster: await getCluster(name),
        credentials: issued,
        ...(globalToken !== undefined && { globalToken }),
      };
    },

    async deleteCluster({ name: by }, name, condition) {
      const id = clusterId(name);
      const only = readCondition(condition);
      await changes.run(id, () =>
        loop.submit({ kind: "remove-cluster", id, by, nowMs: clock.nowMs(), ...only }),
      );
      return { revision: loop.revision };
    },

    async getClusterGraph(_caller, name) {
      const graph = await loop.read((state) => partsOf(state, clusterId(name)).graph);
      return inSlices(renderJgf(graph)); // a graph is immutable: an update replaces it
    },

    async addSubsystem({ name: by }, { cluster, name, document, ifRevision }) {
      const id = clusterId(cluster);
      const only = readCondition({ ifRevision });
      checkText(name, "name", limits.nameLengthMax);
      loop.peek((state) => requireCluster(state, id)); // before a long document is read
      const drafts = (await readDrafts(document)).named(name);
      const add = async (): Promise<void> => {
        const { graph, kind, subsystems: before } = loop.peek((state) => partsOf(state, id));
        const subsystems = await inSlices(linkAll(drafts, graph));
        if (kind === "managed") {
          for (const [at, subsystem] of subsystems.entries()) {
            const row = toDeclared(id, subsystem, graph);
            // The first of them changes the cluster's revision.
            const ifFirst = at === 0 ? only : {};
            await loop.submit({ kind: "declare-software", row, by, ...ifFirst });
          }
          return;
        }
        await inSlices(prepareSubsystems(graph, before, subsystems));
        await loop.submit({ kind: "put-subsystems", id, subsystems, graph, by, ...only });
      };
      await changes.run(id, add).catch((error: unknown) => {
        throw ofDocument(error); // it does not fit the cluster's graph
      });
      return getCluster(cluster);
    },

    async removeSubsystem({ name: by }, { cluster, name, ifRevision }) {
      const id = clusterId(cluster);
      const only = readCondition({ ifRevision });
      await changes.run(id, async () => {
        const { kind } = loop.peek((state) => requireCluster(state, id));
        if (kind === "pulling") {
          const { graph, subsystems } = loop.peek((state) => partsOf(state, id));
          await inSlices(prepareWithout(graph, subsystems, name));
        }
        await loop.submit({ kind: "remove-subsystem", id, name, by, ...only });
      });
      return { revision: loop.revision };
    },

    async getSubsystem(_caller, { cluster, name }) {
      const rendered = await loop.read((state) => {
        const { graph, subsystems } = partsOf(state, clusterId(cluster));
        const subsystem = subsystems.get(name);
        if (subsystem !== undefined) return renderSubsystemJgf(subsystem, graph);
        throw new AppError("not_found", `cluster ${cluster} has no subsystem ${name}`);
      });
      return inSlices(rendered);
    },

    async setClusterState({ name: by }, input) {
      const id = clusterId(input.cluster);
      const counters = input.counters && parseCounters(input.counters);
      const patch = patchOf(input);
      const only = readCondition(input);
      const nowMs = clock.nowMs();
      await loop.submit({ kind: "set-status", id, patch, counters, by, nowMs, ...only });
      return getCluster(input.cluster);
    },
  };
}

function partsOf(
  state: State,
  id: ClusterId,
): {
  readonly kind: Cluster["kind"];
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
} {
  const { kind } = requireCluster(state, id);
  if (kind === "managed") return { kind, ...managedGraph(state, id) };
  const { graphs } = state.clusters;
  return { kind, graph: graphs.graph(id), subsystems: graphs.subsystems(id) };
}

function patchOf({ values, remove = [], counters }: ClusterStateInput): Record<string, unknown> {
  const patch = new Map(Object.entries(values));
  for (const key of remove) {
    if (patch.has(key))
      throw unprocessable("remove", `${JSON.stringify(key)} is set and removed in one request`);
    patch.set(key, null);
  }
  if (patch.size === 0 && counters === undefined) {
    throw invalid("values", "name at least one key to set or remove, or counters");
  }
  return Object.fromEntries(patch);
}

/** The value of the promise, or false when it takes longer. */
const within = (clock: Clock, ms: number, said: Promise<boolean>): Promise<boolean> =>
  new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(false));
    void said.then((is) => {
      cancel();
      resolve(is);
    });
  });
