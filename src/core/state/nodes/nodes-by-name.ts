import type { NodeRecord } from "../../scheduler/nodes/node-record.ts";

/** All nodes by name. Adding or removing a node costs a search, not a sort of all. */
export class NodesByName {
  readonly #inOrder: NodeRecord[] = [];
  /** How many names were compared: for tests. */
  comparisons = 0;

  get all(): readonly NodeRecord[] {
    return this.#inOrder;
  }

  add(record: NodeRecord): void {
    this.#inOrder.splice(this.#placeOf(record), 0, record);
  }

  remove(record: NodeRecord): void {
    this.#inOrder.splice(this.#placeOf(record), 1);
  }

  /** The position of the node, or where to insert it. Rows are read back in order: tries the last first. */
  #placeOf({ node: { id } }: NodeRecord): number {
    let [low, high] = [0, this.#inOrder.length];
    for (let middle = high - 1; low < high; middle = (low + high) >> 1) {
      this.comparisons++;
      if ((this.#inOrder[middle]?.node.id ?? "") < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
