import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { ClusterSource } from "../../ports/cluster-source.ts";
import { describeMachine } from "./description.ts";
import type { TakenRuns } from "./taken-runs.ts";

const CPU = 1_000;

export interface ProcessSourceOptions {
  readonly cluster: string;
  /** The name of the cluster's only node. */
  readonly machine: string;
  /** The newest facts of the machine. */
  readonly facts: () => NodeFacts;
  /** The capacity that the agent offers. */
  readonly capacity: Resources;
  readonly taken: Pick<TakenRuns, "used" | "waiting">;
}

/** This machine as a cluster of one node. Its free capacity is its capacity less the requests of its runs. */
export function createProcessSource(options: ProcessSourceOptions): ClusterSource {
  const { cluster, machine, facts, capacity, taken } = options;
  return {
    describe: async () => describeMachine(cluster, machine, facts()),

    observe: async () => {
      const { runs, amounts } = taken.used;
      const free = freeOf(capacity, amounts);
      const nodesFree = runs === 0 ? 1 : 0;
      const state = {
        nodes_total: 1,
        nodes_free: nodesFree,
        cores_total: coresOf(capacity),
        cores_free: coresOf(free),
        running: runs,
        queue_length: taken.waiting,
      };
      return { state, free: { ...free, nodes: nodesFree } };
    },
  };
}

/** A run with an exclusive node leaves no free capacity. */
function freeOf(capacity: Resources, used: Resources): Resources {
  const isWhole = (used["nodes"] ?? 0) > 0;
  return Object.fromEntries(
    Object.entries(capacity).map(([name, amount]) => [
      name,
      isWhole ? 0 : Math.max(0, amount - (used[name] ?? 0)),
    ]),
  );
}

const coresOf = ({ cpu = 0 }: Resources): number => Math.floor(cpu / CPU);
