import { type NodeStateName, nodeStateName } from "../../model/node/node.ts";
import type { Resources } from "../../model/resources.ts";
import { addInto, subtractFrom } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";
import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";

/** The number of nodes in each state, and the capacity and use of connected nodes. */
export class NodeTotals {
  readonly states: Record<NodeStateName, number> = {
    connected: 0,
    disconnected: 0,
    draining: 0,
    drained: 0,
    lost: 0,
    unhealthy: 0,
    quarantined: 0,
  };
  readonly #capacity: Record<string, number> = {};
  readonly #used: Record<string, number> = {};

  get capacity(): Resources {
    return this.#capacity;
  }

  get used(): Resources {
    return this.#used;
  }

  /** Assigns a task to the node. Whether the node is empty is part of its state only when it is drained. */
  bind(record: NodeRecord, task: Task, takes: Resources, port: number | undefined): void {
    if (record.node.drain !== undefined) this.leave(record);
    record.bind(task, takes, port);
    if (record.node.drain !== undefined) this.join(record);
    else if (record.node.link.kind === "connected") addInto(this.#used, takes);
  }

  release(record: NodeRecord, task: Task, takes: Resources, port: number | undefined): void {
    if (record.node.drain !== undefined) this.leave(record);
    record.release(task, takes, port);
    if (record.node.drain !== undefined) this.join(record);
    else if (record.node.link.kind === "connected") subtractFrom(this.#used, takes);
  }

  /** The node's agent holds a task ahead, which uses no capacity. */
  hold(record: NodeRecord, task: Task): void {
    if (record.node.drain !== undefined) this.leave(record);
    record.held.add(task);
    if (record.node.drain !== undefined) this.join(record);
  }

  drop(record: NodeRecord, task: Task): void {
    if (record.node.drain !== undefined) this.leave(record);
    record.held.delete(task);
    if (record.node.drain !== undefined) this.join(record);
  }

  join(record: NodeRecord): void {
    this.states[stateOf(record)]++;
    if (record.node.link.kind !== "connected") return;
    addInto(this.#capacity, record.node.capacity);
    addInto(this.#used, record.used);
  }

  leave(record: NodeRecord): void {
    this.states[stateOf(record)]--;
    if (record.node.link.kind !== "connected") return;
    subtractFrom(this.#capacity, record.node.capacity);
    subtractFrom(this.#used, record.used);
  }
}

const stateOf = ({ node, tasks, held }: NodeRecord): NodeStateName =>
  nodeStateName(node, tasks.size + held.size);
