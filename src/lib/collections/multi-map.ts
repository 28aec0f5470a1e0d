const NOTHING: ReadonlySet<never> = new Set();

/** Sets by key; a key whose set is empty is removed. */
export class MultiMap<K, V> {
  readonly #sets = new Map<K, Set<V>>();

  get keyCount(): number {
    return this.#sets.size;
  }

  get(key: K): ReadonlySet<V> {
    return this.#sets.get(key) ?? NOTHING;
  }

  add(key: K, value: V): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  delete(key: K, value: V): void {
    const set = this.#sets.get(key);
    set?.delete(value);
    if (set?.size === 0) this.#sets.delete(key);
  }
}
