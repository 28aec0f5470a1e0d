/**
 * The first caller makes the value; callers meanwhile wait for the same one. A failure rejects all of them and is not cached: the next call
 * tries again.
 */
export class Lazy<T> {
  readonly #make: () => Promise<T>;
  #made: Promise<T> | undefined = undefined;

  constructor(make: () => Promise<T>) {
    this.#make = make;
  }

  get(): Promise<T> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }

  /** The value if it exists; makes nothing, and does not fail. */
  peek(): Promise<T | undefined> {
    return this.#made?.catch(() => undefined) ?? Promise.resolve(undefined);
  }
}
