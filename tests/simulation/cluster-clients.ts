import type { Operations } from "../../src/server/operations/operations.ts";
import type { Asked, Shape } from "./asks.ts";
import { MANAGED, PULLING } from "./asks.ts";
import type { Seeded } from "./random.ts";

/** A request to the server, and its text in the trace. */
export interface Wanted {
  readonly what: string;
  readonly ask: (to: Operations) => Promise<unknown>;
  /** Repeated while its target does not exist: it will be created. */
  readonly waits?: boolean;
}

/** Operators of clusters: they register, change and delete them, and report their state. */
export class ClusterClients {
  readonly #random: Seeded;
  readonly #asked: Asked;
  readonly #nodes: readonly string[];
  #graphs = 0;

  constructor(random: Seeded, asked: Asked, nodes: readonly string[]) {
    this.#random = random;
    this.#asked = asked;
    this.#nodes = nodes;
  }

  next(): Wanted {
    const random = this.#random;
    const roll = random.fraction();
    const name = random.pick(PULLING);
    if (roll < 0.35) return this.#register(name);
    if (roll < 0.45) return deletion(name);
    if (roll < 0.7) return this.#tell(random.pick([name, name, MANAGED]));
    const cluster = random.pick([name, MANAGED, MANAGED]);
    if (roll < 0.88) return this.#addIo(cluster);
    const ask: Wanted["ask"] = (to) => to.removeSubsystem({ cluster, name: "io" });
    return { what: `remove io of ${cluster}`, ask };
  }

  /** Undoes everything that would keep offered tasks, or tasks that wait for a cluster's report, from ending. */
  amends(): readonly Wanted[] {
    const values = { nodes_free: 1_000 };
    const ask: Wanted["ask"] = (to) => to.setClusterState({ cluster: MANAGED, values });
    return [...PULLING.map(deletion), { what: `${MANAGED} has free nodes`, ask, waits: true }];
  }

  /** The id of its root identifies a graph; ids of nodes are always the same. */
  #register(name: string): Wanted {
    const random = this.#random;
    const root = `g${++this.#graphs}`;
    const shape: Shape = {
      nodes: Array.from({ length: random.int(1, 3) }, () => ({
        cores: random.pick([1, 1, 2, 4]),
        memory: random.chance(0.5) ? random.int(1, 4) : 0,
        gpus: random.chance(0.2) ? 1 : 0,
      })),
    };
    this.#asked.shapes.set(root, shape);
    const isUpdate = random.chance(0.3);
    // Every other one, without a draw: other seeds stay the same.
    const withCredentials = !isUpdate && this.#graphs % 2 === 0;
    const cluster = { name, graph: toDocument(root, shape), isUpdate, withCredentials };
    const what = `register ${name} ${root} ${JSON.stringify(shape)}${isUpdate ? ", update" : ""}`;
    const register: Wanted["ask"] = (to) => to.registerCluster(cluster);
    if (random.chance(0.5)) return { what, ask: register };
    const then = this.#tell(name);
    return { what: `${what}; ${then.what}`, ask: (to) => register(to).then(() => then.ask(to)) };
  }

  #tell(cluster: string): Wanted {
    const random = this.#random;
    const values = { nodes_free: random.chance(0.1) ? null : Math.max(0, random.int(-2, 4)) };
    const counters = [{ key: "nodes_free", by: random.pick(["nodes", "slots", "jobs"]) }];
    const counts = cluster !== MANAGED && random.chance(0.7);
    const state = { cluster, values, ...(counts ? { counters } : {}) };
    return {
      what: `state ${JSON.stringify(state)}`,
      ask: (to) => to.setClusterState(state),
    };
  }

  /** Linked to one node, or in a cluster with agents to all. */
  #addIo(cluster: string): Wanted {
    const random = this.#random;
    const ofMachines = random.pick(["/default", `/default/${random.pick(this.#nodes)}`]);
    const source = cluster === MANAGED ? ofMachines : "n0";
    const document = {
      graph: {
        nodes: { shm: { metadata: { type: "shm" } } },
        edges: [{ source, target: "shm", relation: "contains" }],
      },
    };
    const ask: Wanted["ask"] = (to) => to.addSubsystem({ cluster, name: "io", document });
    return { what: `add io to ${source} of ${cluster}`, ask };
  }
}

const deletion = (name: string): Wanted => ({
  what: `delete ${name}`,
  ask: (to) => to.deleteCluster(name),
});

function toDocument(root: string, { nodes }: Shape): object {
  const vertices: Record<string, object> = { [root]: { metadata: { type: "cluster" } } };
  const edges: object[] = [];
  const add = (id: string, source: string, metadata: object): void => {
    vertices[id] = { metadata };
    edges.push({ source, target: id, relation: "contains" });
  };
  for (const [at, { cores, memory, gpus }] of nodes.entries()) {
    add(`n${at}`, root, { type: "node" });
    add(`n${at}-core`, `n${at}`, { type: "core", size: cores });
    if (memory > 0) add(`n${at}-memory`, `n${at}`, { type: "memory", size: memory, unit: "B" });
    if (gpus > 0) add(`n${at}-gpu`, `n${at}`, { type: "gpu" });
  }
  return { graph: { nodes: vertices, edges } };
}
