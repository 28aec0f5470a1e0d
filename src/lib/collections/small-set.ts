const FEW = 8;

/**
 * A set that is mostly empty or small and changes often. A Set gets a new table whenever its last item is deleted; this one is an array
 * until it has more than a few items. Iterates in the order of insertion.
 */
export class SmallSet<T> {
  readonly #few: T[] = [];
  #many: Set<T> | undefined = undefined;

  get size(): number {
    return this.#many?.size ?? this.#few.length;
  }

  /** The caller must not add or delete items while it iterates. */
  get items(): Iterable<T> {
    return this.#many ?? this.#few;
  }

  get first(): T | undefined {
    if (this.#many === undefined) return this.#few[0];
    const [first] = this.#many;
    return first;
  }

  has(item: T): boolean {
    return this.#many?.has(item) ?? this.#few.includes(item);
  }

  add(item: T): void {
    if (this.#many !== undefined) this.#many.add(item);
    else if (!this.#few.includes(item)) {
      this.#few.push(item);
      if (this.#few.length <= FEW) return;
      this.#many = new Set(this.#few);
      this.#emptyFew();
    }
  }

  delete(item: T): void {
    if (this.#many !== undefined) {
      this.#many.delete(item);
      if (this.#many.size === 0) this.#many = undefined;
      return;
    }
    const at = this.#few.indexOf(item);
    if (at >= 0) this.#few.splice(at, 1);
  }

  /** The `count` oldest items. */
  deleteFirst(count: number): void {
    if (count >= this.size) return this.clear();
    if (this.#many === undefined) this.#few.splice(0, count);
    let left = count;
    for (const item of this.#many ?? []) {
      if (left-- <= 0) return;
      this.#many?.delete(item);
    }
  }

  clear(): void {
    this.#many = undefined;
    this.#emptyFew();
  }

  /** An array whose length is set to 0 loses its memory, and the next item allocates again. */
  #emptyFew(): void {
    while (this.#few.length > 0) this.#few.pop();
  }
}
