import { NO_REVISION, type Revision } from "../../model/ids.ts";
import type { Node } from "../../model/node/node.ts";
import type { Resources } from "../../model/resources.ts";
import { addInto, dominantShare, subtractFrom } from "../../model/resources.ts";
import { type NodeGraph, NodeGraphs } from "./node-graphs.ts";
import type { Task } from "../../model/job/task.ts";
import { RunTimes } from "./run-times.ts";
import { UsedPorts } from "./used-ports.ts";

/** A node in memory: its row and the tasks that hold its resources. Changed by State.apply only. */
export class NodeRecord {
  node: Node;
  revision: Revision = NO_REVISION;
  /** Tasks assigned, running or stopping there. */
  readonly tasks = new Set<Task>();
  /** Tasks fetched ahead: its agent has them, and they use nothing yet. */
  readonly held = new Set<Task>();
  /** The recent run times of its tasks. */
  readonly runTimes = new RunTimes();
  /** The fleet's turn of its last assignment; 0: none since the server started. */
  lastTurn = 0;
  readonly ports = new UsedPorts();
  readonly #used: Record<string, number> = {};
  #free: Record<string, number> = {};
  /** Undefined: not computed since the last change. */
  #share: number | undefined = undefined;

  readonly #graphs: NodeGraphs;
  #graph: NodeGraph | undefined = undefined;

  constructor(node: Node, graphs = new NodeGraphs()) {
    this.node = node;
    this.#graphs = graphs;
    this.#free = { ...node.capacity };
  }

  get used(): Resources {
    return this.#used;
  }

  /** Capacity minus use. Below zero when the node came back smaller. */
  get free(): Resources {
    return this.#free;
  }

  /** How full it is: its fullest resource, 0 … 1, or more when it came back smaller. */
  get share(): number {
    return (this.#share ??= dominantShare(this.#used, this.node.capacity));
  }

  /** Made on first use: most jobs request amounts only. */
  get graph(): NodeGraph {
    return (this.#graph ??= this.#graphs.of(this.node));
  }

  replace(node: Node): void {
    this.node = node;
    this.#graph = undefined;
    this.#free = { ...node.capacity };
    this.#share = undefined;
    for (const name in this.#used) {
      this.#free[name] = (this.#free[name] ?? 0) - (this.#used[name] ?? 0);
    }
  }

  bind(task: Task, needs: Resources, port: number | undefined): void {
    this.tasks.add(task);
    this.ports.add(port);
    this.#share = undefined;
    addInto(this.#used, needs);
    for (const name in needs) this.#free[name] = (this.#free[name] ?? 0) - (needs[name] ?? 0);
  }

  release(task: Task, needs: Resources, port: number | undefined): void {
    this.tasks.delete(task);
    this.ports.remove(port);
    this.#share = undefined;
    subtractFrom(this.#used, needs);
    addInto(this.#free, needs);
  }

  /** The task's row was replaced by another with the same resources. */
  swap(before: Task, after: Task): void {
    this.tasks.delete(before);
    this.tasks.add(after);
  }
}
