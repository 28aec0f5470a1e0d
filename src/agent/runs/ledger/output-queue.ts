/**
 * Outputs by their keys, oldest first. The order has its own list: with 10,000 entries, finding the first entry of a map whose first
 * entries were deleted takes 15 us.
 */
export class OutputQueue<Output extends { readonly bytes: number }> {
  readonly #outputs = new Map<string, Output>(); // in the order they were added
  #order: (readonly [key: string, output: Output])[] = []; // including removed ones
  #head = 0; // no entry is left before it
  #bytes = 0;

  get size(): number {
    return this.#outputs.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Output | undefined {
    return this.#outputs.get(key);
  }

  entries(): IterableIterator<[string, Output]> {
    return this.#outputs.entries();
  }

  /** The key must be new. */
  add(key: string, output: Output): void {
    this.#outputs.set(key, output);
    this.#order.push([key, output]);
    this.#bytes += output.bytes;
  }

  /** False when there is none. */
  remove(key: string): boolean {
    const output = this.#outputs.get(key);
    if (output === undefined) return false;
    this.#outputs.delete(key);
    this.#bytes -= output.bytes;
    return true;
  }

  oldest(): readonly [key: string, output: Output] | undefined {
    for (; this.#head < this.#order.length; this.#head++) {
      const entry = this.#order[this.#head]!;
      if (this.#outputs.get(entry[0]) === entry[1]) {
        this.#shorten();
        return entry;
      }
    }
    this.#order = [];
    this.#head = 0;
    return undefined;
  }

  #shorten(): void {
    if (this.#head < 1_024 || this.#head < this.#order.length / 2) return;
    this.#order = this.#order.slice(this.#head);
    this.#head = 0;
  }
}
