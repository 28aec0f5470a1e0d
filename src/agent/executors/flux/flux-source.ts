import { clusterGraph } from "../../../core/graph/facts.ts";
import { toJgf } from "../../../core/graph/jgf.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ClusterObservation, ClusterSource } from "../../../ports/cluster-source.ts";
import type { FluxCommand } from "./flux-command.ts";
import { createNodeMemory } from "./node-memory.ts";
import { nodesOf, parseIdset } from "./resources.ts";

const CPU_UNITS = 1_000; // of one core

/** The machines of a Flux instance as its scheduler reports them, and how many of them are free. */
export function createFluxSource(flux: FluxCommand, cluster: string): ClusterSource {
  const ask = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await flux(args);
    if (exitCode === 0) return stdout;
    throw new AppError(
      "unavailable",
      `flux ${args[0]}: ${stderr.trim() || `exit code ${exitCode}`}`,
    );
  };
  const withMemory = createNodeMemory(flux);
  return {
    async describe() {
      const nodes = await withMemory(nodesOf(await ask("resource", "R")));
      return { graph: toJgf(clusterGraph(cluster, nodes)), subsystems: [] };
    },
    async observe() {
      const format = "{state}|{ncores}|{ngpus}|{ranks}";
      const states = "--states=free,allocated,down";
      const resources = await ask("resource", "list", "-n", states, "-o", format);
      const count = `--count=${limits.fluxJobsListedMax}`;
      const filter = "--filter=pending,running";
      const jobs = await ask("jobs", "-A", "--color=never", "-n", filter, count, "-o", "{state}");
      return observationOf(resources, jobs);
    },
  };
}

interface Amount {
  readonly cores: number;
  readonly gpus: number;
  readonly ranks: ReadonlySet<number>;
}

/** A node is free when no part of it is allocated. */
export function observationOf(resources: string, jobs: string): ClusterObservation {
  const amounts = new Map<string, Amount>();
  for (const line of resources.split("\n")) {
    const [state, cores, gpus, ranks] = line.split("|").map((word) => word.trim());
    if (state === undefined || ranks === undefined) continue;
    const before = amounts.get(state) ?? NOTHING;
    amounts.set(state, {
      cores: before.cores + Number(cores),
      gpus: before.gpus + Number(gpus),
      ranks: new Set([...before.ranks, ...parseIdset(ranks)]),
    });
  }
  const [free = NOTHING, taken = NOTHING, down = NOTHING] = ["free", "allocated", "down"].map(
    (state) => amounts.get(state),
  );
  const nodesFree = free.ranks.difference(taken.ranks).size;
  const states = jobs.split("\n").filter((line) => line.trim() !== "");
  const running = states.filter((state) => state === "RUN" || state === "CLEANUP").length;
  return {
    state: {
      nodes_total: free.ranks.union(taken.ranks).union(down.ranks).size,
      nodes_free: nodesFree,
      cores_total: free.cores + taken.cores + down.cores,
      cores_free: free.cores,
      ...(free.gpus + taken.gpus + down.gpus > 0 ? { gpus_free: free.gpus } : {}),
      running,
      queue_length: states.length - running,
    },
    free: { cpu: free.cores * CPU_UNITS, gpu: free.gpus, nodes: nodesFree },
  };
}

const NOTHING: Amount = { cores: 0, gpus: 0, ranks: new Set() };
