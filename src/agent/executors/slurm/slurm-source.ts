import type { MachineFacts } from "../../../core/graph/facts.ts";
import { clusterGraph } from "../../../core/graph/facts.ts";
import { toJgf } from "../../../core/graph/jgf.ts";
import { AppError } from "../../../lib/errors.ts";
import type { ClusterObservation, ClusterSource } from "../../../ports/cluster-source.ts";
import type { SlurmNode } from "./nodes.ts";
import { parseNodes } from "./nodes.ts";
import type { RunSlurm } from "./slurm-scheduler.ts";

export interface SlurmSourceOptions {
  readonly run: RunSlurm;
  /** The name of the cluster in its graph. */
  readonly cluster: string;
  /** Restricts the nodes to this partition; undefined: all nodes. */
  readonly partition: string | undefined;
}

/** Slurm's description of its nodes and its queue. */
export function createSlurmSource({ run, cluster, partition }: SlurmSourceOptions): ClusterSource {
  async function nodes(): Promise<readonly SlurmNode[]> {
    const all = parseNodes(await run("scontrol", ["show", "nodes", "--oneliner"]));
    const own = all.filter(
      ({ partitions }) => partition === undefined || partitions.includes(partition),
    );
    if (own.length > 0) return own;
    const where = partition === undefined ? "" : ` in partition ${partition}`;
    throw new AppError("unavailable", `slurm has no nodes${where}`);
  }

  return {
    async describe() {
      const graph = clusterGraph(cluster, (await nodes()).map(machineOf));
      return { graph: toJgf(graph), subsystems: [] };
    },

    async observe() {
      const where = partition === undefined ? [] : [`--partition=${partition}`];
      const args = ["--noheader", "--array", "--format=%t", ...where];
      const [known, states] = await Promise.all([nodes(), run("squeue", args)]);
      return observationOf(known, states.split("\n"));
    },
  };
}

/** Features are labels of the machine: "feature.avx512" is "true". */
const machineOf = (node: SlurmNode): MachineFacts => ({
  name: node.name,
  cores: node.cpus,
  sockets: 1,
  numa: 1,
  memoryBytes: node.memoryBytes,
  gpus: node.gpus,
  metadata: Object.fromEntries(node.features.map((name) => [`feature.${name}`, true])),
});

/** `states` are short states of the queue: PD for pending jobs, R for running ones. */
export function observationOf(
  nodes: readonly SlurmNode[],
  states: readonly string[],
): ClusterObservation {
  const usable = nodes.filter(({ isUsable }) => isUsable);
  const sum = (of: (node: SlurmNode) => number): number =>
    usable.reduce((total, node) => total + of(node), 0);
  const idle = usable.filter(({ cpusAllocated }) => cpusAllocated === 0).length;
  const cores = sum(({ cpus, cpusAllocated }) => cpus - cpusAllocated);
  const memory = sum(({ memoryBytes, memoryAllocated }) => memoryBytes - memoryAllocated);
  const gpus = sum(({ gpus: has, gpusAllocated }) => has - gpusAllocated);
  const count = (state: string): number => states.filter((each) => each.trim() === state).length;
  return {
    state: {
      nodes_total: nodes.length,
      nodes_up: usable.length,
      nodes_free: idle,
      cores_total: nodes.reduce((total, { cpus }) => total + cpus, 0),
      cores_free: cores,
      ...(nodes.some((node) => node.gpus > 0) ? { gpus_free: gpus } : {}),
      queue_length: count("PD"),
      running: count("R"),
    },
    free: { cpu: cores * 1_000, memory, ...(gpus > 0 ? { gpu: gpus } : {}), nodes: idle },
  };
}
