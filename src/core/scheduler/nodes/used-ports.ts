/** The ports of one node that its tasks use. Most nodes have none. */
export class UsedPorts {
  /** The number of tasks for each: an agent may run two when it came back with both. */
  #tasks: Map<number, number> | undefined = undefined;

  has(port: number): boolean {
    return this.#tasks?.has(port) === true;
  }

  /** In ascending order, for comparisons. */
  get all(): readonly number[] {
    return [...(this.#tasks?.keys() ?? [])].sort((a, b) => a - b);
  }

  add(port: number | undefined): void {
    if (port === undefined) return;
    this.#tasks ??= new Map();
    this.#tasks.set(port, (this.#tasks.get(port) ?? 0) + 1);
  }

  remove(port: number | undefined): void {
    if (port === undefined) return;
    const left = (this.#tasks?.get(port) ?? 0) - 1;
    if (left > 0) this.#tasks?.set(port, left);
    else this.#tasks?.delete(port);
  }
}
