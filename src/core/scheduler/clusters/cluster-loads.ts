import type { ClusterId } from "../../model/ids.ts";
import type { Node } from "../../model/node/node.ts";
import { isSchedulable, acceptsTasks } from "../../model/node/node.ts";
import type { Resources } from "../../model/resources.ts";
import { addInto, dominantShare, subtractFrom } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";

interface Load {
  readonly capacity: Record<string, number>;
  readonly used: Record<string, number>;
  tasks: number;
  readonly offered: Set<Task>;
  /** Agents of the whole cluster, and how many of them accept tasks. */
  agents: number;
  acceptingAgents: number;
}

/** The tasks of each cluster that have not ended, for choosing between clusters. Follows State.apply. */
export class ClusterLoads {
  readonly #loads = new Map<ClusterId, Load>();

  /** `before` is undefined for a new node, `after` for one that was removed. */
  nodeChanged(before: Node | undefined, after: Node | undefined, used: Resources): void {
    if (before !== undefined) {
      const load = this.#of(before.cluster);
      if (isSchedulable(before)) subtractFrom(load.capacity, before.capacity);
      subtractFrom(load.used, used);
      countAgent(load, before, -1);
    }
    if (after === undefined) return;
    const load = this.#of(after.cluster);
    if (isSchedulable(after)) addInto(load.capacity, after.capacity);
    addInto(load.used, used);
    countAgent(load, after, 1);
  }

  /** The cluster has agents, and none of them accepts tasks now: offered tasks may wait for long. */
  hasOnlyUnavailableAgents(cluster: ClusterId): boolean {
    const { agents, acceptingAgents } = this.#of(cluster);
    return agents > 0 && acceptingAgents === 0;
  }

  /** Whether the cluster has agents, connected or not. */
  hasAgents(cluster: ClusterId): boolean {
    return this.#of(cluster).agents > 0;
  }

  bound(cluster: ClusterId, takes: Resources): void {
    const load = this.#of(cluster);
    addInto(load.used, takes);
    load.tasks++;
  }

  released(cluster: ClusterId, takes: Resources): void {
    const load = this.#of(cluster);
    subtractFrom(load.used, takes);
    load.tasks--;
  }

  /** Updates the offered tasks when a task changes its state. */
  moved(before: Task | undefined, after: Task | undefined): void {
    if (before?.state.kind === "offered") this.#of(before.state.cluster).offered.delete(before);
    if (after?.state.kind === "offered") this.#of(after.state.cluster).offered.add(after);
  }

  offeredTo(cluster: ClusterId): ReadonlySet<Task> {
    return this.#of(cluster).offered;
  }

  /** Tasks on its nodes, or offered to it. */
  tasksOf(cluster: ClusterId): number {
    const { tasks, offered } = this.#of(cluster);
    return tasks + offered.size;
  }

  /** 0 … 1 of what its nodes have, by the resource of which most is used; undefined: no nodes. */
  usedShare(cluster: ClusterId): number | undefined {
    const { capacity, used } = this.#of(cluster);
    if (Object.keys(capacity).length === 0) return undefined;
    return Math.min(1, dominantShare(used, capacity));
  }

  remove(cluster: ClusterId): void {
    this.#loads.delete(cluster);
  }

  #of(cluster: ClusterId): Load {
    let load = this.#loads.get(cluster);
    if (load === undefined) {
      load = {
        capacity: {},
        used: {},
        tasks: 0,
        offered: new Set(),
        agents: 0,
        acceptingAgents: 0,
      };
      this.#loads.set(cluster, load);
    }
    return load;
  }
}

function countAgent(load: Load, node: Node, by: 1 | -1): void {
  if (node.clusterAgent === undefined) return;
  load.agents += by;
  if (acceptsTasks(node)) load.acceptingAgents += by;
}
