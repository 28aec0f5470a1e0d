import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { Tree } from "./tree.ts";

/** Removes notes of jobs that are no longer retained, some at a time. */
export class NoteSweeper {
  readonly #operations: Operations;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  readonly #waiting = new Set<string>();
  #isBusy = false;

  constructor(operations: Operations, tree: Tree, logger: Logger) {
    this.#operations = operations;
    this.#logger = logger;
    tree.onOrphans = (ids) => {
      for (const id of ids) this.#waiting.add(id);
    };
    // Jobs may have been removed while no server ran.
    for (const { id } of tree.notes.all) if (tree.isOrphan(id)) this.#waiting.add(id);
    this.#timer = setInterval(() => void this.sweep(), limits.nexusSweepMs).unref();
  }

  /** How many are left. */
  async sweep(): Promise<number> {
    if (this.#isBusy || this.#waiting.size === 0) return this.#waiting.size;
    this.#isBusy = true;
    const some = [...this.#waiting].slice(0, limits.nexusSweepMax);
    try {
      await this.#operations.putNotes(some.map((id) => ({ id })));
      for (const id of some) this.#waiting.delete(id);
    } catch (error) {
      // The next round tries again.
      const reason = describeChain(AppError.from(error, "remove notes"));
      this.#logger.warn({ reason }, "could not remove notes of removed jobs; trying again");
    } finally {
      this.#isBusy = false;
    }
    return this.#waiting.size;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
