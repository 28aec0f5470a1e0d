import type { JobId, NodeId } from "../model/ids.ts";
import { isActive, placedOf, type Task } from "../model/job/task.ts";
import { NO_RESOURCES, type Resources } from "../model/resources.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { FilterNode } from "./filters/filter.ts";
import type { NodeGraph } from "./nodes/node-graphs.ts";
import { UsedPorts } from "./nodes/used-ports.ts";

/**
 * The resources that tasks hold on nodes, summed from the rows of tasks alone. `verify` reads it
 * instead of the planner's amounts, so that a mistake in those cannot overcommit a node. Follows
 * State.apply.
 */
export class Ledger {
  /** Of nodes with tasks. */
  readonly #accounts = new Map<NodeId, Account>();
  /** Jobs with energy that have not ended: the energy in shares or done. */
  readonly #placed = new Map<JobId, number>();

  /** `needs` are those of the task's job: used when the row does not name the amounts. `port`: of the node, for the job's tasks. */
  moved(before: Task | undefined, after: Task, needs: Resources, port: number | undefined): void {
    if (after.share !== undefined) {
      const more = placedOf(after) - (before === undefined ? 0 : placedOf(before));
      this.#placed.set(after.jobId, this.placedOf(after.jobId) + more);
    }
    const from = before !== undefined && isActive(before.state) ? before.state.nodeId : undefined;
    const to = isActive(after.state) ? after.state.nodeId : undefined;
    if (from === to) return;
    if (from !== undefined) this.#release(from, before?.takes ?? needs, port);
    if (to === undefined) return;
    let account = this.#accounts.get(to);
    if (account === undefined) this.#accounts.set(to, (account = new Account()));
    account.tasks++;
    account.add(after.takes ?? needs, 1);
    account.ports.add(port);
  }

  /** The energy of a job that is in shares or done, by the rows of its tasks. */
  placedOf(job: JobId): number {
    return this.#placed.get(job) ?? 0;
  }

  jobEnded(job: JobId): void {
    this.#placed.delete(job);
  }

  heldOn(node: NodeId): Resources {
    return this.#accounts.get(node)?.held ?? NO_RESOURCES;
  }

  portsOn(node: NodeId): readonly number[] {
    return this.#accounts.get(node)?.ports.all ?? [];
  }

  /** The node with its free capacity by the rows of tasks. Valid until the next change. */
  view(record: NodeRecord): FilterNode {
    const account = this.#accounts.get(record.node.id);
    return account === undefined ? viewOf(record, record.node.capacity) : account.view(record);
  }

  #release(node: NodeId, takes: Resources, port: number | undefined): void {
    const account = this.#accounts.get(node);
    if (account === undefined) return;
    account.tasks--;
    if (account.tasks === 0) this.#accounts.delete(node);
    else account.add(takes, -1);
    account.ports.remove(port);
  }
}

/** The resources that tasks hold on one node, and the free capacity that remains. */
class Account {
  tasks = 0;
  readonly held: Record<string, number> = {};
  readonly ports = new UsedPorts();
  /** Of this capacity. Below zero when the node came back smaller than it was. */
  #capacity: Resources | undefined = undefined;
  #free: Record<string, number> = {};
  /** A view with that free capacity: `verify` reads it for every placement. */
  #node: LedgerNode | undefined = undefined;

  add(takes: Resources, sign: 1 | -1): void {
    change(this.held, takes, sign);
    if (this.#capacity !== undefined) change(this.#free, takes, -sign);
  }

  view(record: NodeRecord): FilterNode {
    const { capacity } = record.node;
    if (capacity !== this.#capacity) {
      this.#capacity = capacity;
      this.#free = { ...capacity };
      this.#node = undefined;
      change(this.#free, this.held, -1);
    }
    if (this.#node?.record !== record) this.#node = new LedgerNode(record, this.#free, this.ports);
    return this.#node;
  }
}

/** Amounts stay when they reach zero: objects that lose properties are slow. */
function change(amounts: Record<string, number>, by: Resources, sign: number): void {
  for (const name in by) {
    const before = amounts[name];
    // Nodes of earlier versions may have an amount named "constructor".
    amounts[name] = (typeof before === "number" ? before : 0) + sign * (by[name] ?? 0);
  }
}

const NO_PORTS = new UsedPorts();

/** The node as if so much, and every port, were free. */
export const viewOf = (record: NodeRecord, free: Resources): FilterNode =>
  new LedgerNode(record, free, NO_PORTS);

class LedgerNode implements FilterNode {
  readonly record: NodeRecord;
  readonly free: Resources;
  readonly ports: UsedPorts;

  constructor(record: NodeRecord, free: Resources, ports: UsedPorts) {
    this.record = record;
    this.free = free;
    this.ports = ports;
  }

  get node(): FilterNode["node"] {
    return this.record.node;
  }

  /** Made only when a request needs it. */
  get graph(): NodeGraph {
    return this.record.graph;
  }

  get tasks(): FilterNode["tasks"] {
    return this.record.tasks;
  }
}
