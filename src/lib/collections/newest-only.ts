/** Stores one value at a time; of the values that arrive meanwhile it stores only the newest, so that no sender floods the store. */
export class NewestOnly<Value extends object> {
  /** The newest value, while another is being stored. */
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
