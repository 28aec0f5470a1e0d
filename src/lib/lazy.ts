/**
 * Made by the first who asks; those who ask meanwhile wait for the same one. A failure is told to
 * them and forgotten: the next one tries again.
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

  /** What there is; makes nothing, and does not fail. */
  peek(): Promise<T | undefined> {
    return this.#made?.catch(() => undefined) ?? Promise.resolve(undefined);
  }
}
