import { type StateValues, valuesOf } from "../../graph/cluster-state.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Candidate } from "../../select/strategy.ts";
import type { ClusterTable } from "./cluster-table.ts";

/**
 * A cluster as strategies see it. Most of them look at little of it, and there may be many: load and state
 * are read when a strategy asks for them, and thus are never out of date.
 */
class ClusterCandidate implements Candidate {
  readonly name: ClusterId;
  readonly slots: number | undefined;
  readonly #clusters: ClusterTable;

  constructor(clusters: ClusterTable, name: ClusterId, slots: number | undefined) {
    this.name = name;
    this.slots = slots;
    this.#clusters = clusters;
  }

  get state(): StateValues {
    return valuesOf(this.#clusters.statusOf(this.name).state);
  }

  get jobs(): number {
    return this.#clusters.loads.tasksOf(this.name);
  }

  get usedShare(): number | undefined {
    return this.#clusters.loads.usedShare(this.name);
  }
}

export const candidateOf = (
  clusters: ClusterTable,
  id: ClusterId,
  slots: number | undefined,
): Candidate => new ClusterCandidate(clusters, id, slots);
