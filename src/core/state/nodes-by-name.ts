import type { NodeRecord } from "./node-record.ts";

/** All nodes by name. Sorted again only after nodes came or went. */
export class NodesByName {
  readonly #nodes: ReadonlyMap<unknown, NodeRecord>;
  #sorted: readonly NodeRecord[] | undefined;

  constructor(nodes: ReadonlyMap<unknown, NodeRecord>) {
    this.#nodes = nodes;
  }

  changed(): void {
    this.#sorted = undefined;
  }

  get all(): readonly NodeRecord[] {
    this.#sorted ??= [...this.#nodes.values()].sort((a, b) => (a.node.id < b.node.id ? -1 : 1));
    return this.#sorted;
  }
}
