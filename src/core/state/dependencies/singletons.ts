import { invariant } from "../../../lib/invariant.ts";
import type { JobId } from "../../model/ids.ts";

interface Line {
  readonly ids: JobId[];
  head: number;
}

/**
 * Jobs with the same singleton name, in the order of their ids: the first that has not ended may run. A
 * job that ends out of order stays until it comes first, so that each is visited once.
 */
export class Singletons {
  readonly #lines = new Map<string, Line>();
  readonly #hasEnded: (id: JobId) => boolean;

  constructor(hasEnded: (id: JobId) => boolean) {
    this.#hasEnded = hasEnded;
  }

  add(name: string, id: JobId): void {
    const line = this.#lines.get(name);
    if (line === undefined) {
      this.#lines.set(name, { ids: [id], head: 0 });
      return;
    }
    invariant((line.ids.at(-1) ?? 0) < id, `job ${id} stands in line after younger ones`);
    line.ids.push(id);
  }

  /** The first job that has not ended. */
  first(name: string): JobId | undefined {
    const line = this.#lines.get(name);
    if (line === undefined) return undefined;
    for (;;) {
      const id = line.ids[line.head];
      if (id === undefined) {
        this.#lines.delete(name);
        return undefined;
      }
      if (!this.#hasEnded(id)) return id;
      line.head++;
      if (line.head >= 1_024 && line.head * 2 > line.ids.length) {
        line.ids.splice(0, line.head);
        line.head = 0;
      }
    }
  }
}
