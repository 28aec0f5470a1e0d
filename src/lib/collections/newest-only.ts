/** Stores one at a time, and of those that come meanwhile the newest: nobody floods the store. */
export class NewestOnly<Value extends object> {
  /** The newest, while one is being stored. */
  #toStore: Value | undefined = undefined;

  async put(value: Value, store: (value: Value) => Promise<unknown>): Promise<void> {
    const isStoring = this.#toStore !== undefined;
    this.#toStore = value;
    if (isStoring) return;
    let stored: Value | undefined;
    while (this.#toStore !== stored) {
      stored = this.#toStore;
      await store(stored);
    }
    this.#toStore = undefined;
  }
}
