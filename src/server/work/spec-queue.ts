import { Heap } from "../../lib/collections/heap.ts";

interface Waiting<Item> {
  readonly item: Item;
  readonly order: number;
  /** Bytes that are still to be sent. */
  left: number;
}

/** One in so many parts goes to the oldest item, the others to the smallest. */
const OLDEST_EVERY = 4;

/**
 * Decides whose part goes next: the item with the fewest bytes left, so that small ones do not wait for large ones; and each fourth time
 * the oldest, so that a large one does not wait for ever behind small ones that keep coming.
 */
export class SpecQueue<Item> {
  readonly #byAge = new Map<Item, Waiting<Item>>();
  readonly #bySize = new Heap<Waiting<Item>>((a, b) =>
    a.left === b.left ? a.order < b.order : a.left < b.left,
  );
  #lastOrder = 0;
  #turn = 0;

  get size(): number {
    return this.#byAge.size;
  }

  add(item: Item, bytes: number): void {
    const waiting = { item, order: ++this.#lastOrder, left: bytes };
    this.#byAge.set(item, waiting);
    this.#bySize.push(waiting);
  }

  remove(item: Item): void {
    this.#byAge.delete(item);
    if (this.#bySize.size > 2 * this.#byAge.size + 16) this.#rebuild();
  }

  /** The item whose part is to be sent next; undefined: there is none. */
  next(): Item | undefined {
    this.#turn += 1;
    if (this.#turn % OLDEST_EVERY === 0) return this.#byAge.keys().next().value;
    for (;;) {
      const smallest = this.#bySize.peek();
      if (smallest === undefined) return undefined;
      if (this.#byAge.get(smallest.item) === smallest) return smallest.item;
      this.#bySize.pop();
    }
  }

  /** The bytes of it that are left to send from now on. */
  setLeft(item: Item, left: number): void {
    const waiting = this.#byAge.get(item);
    if (waiting === undefined) return;
    // A separate entry: the heap does not notice that an item has become smaller.
    const fresh = { ...waiting, left };
    this.#byAge.set(item, fresh);
    this.#bySize.push(fresh);
    if (this.#bySize.size > 2 * this.#byAge.size + 16) this.#rebuild();
  }

  #rebuild(): void {
    while (this.#bySize.pop() !== undefined);
    for (const waiting of this.#byAge.values()) this.#bySize.push(waiting);
  }
}
