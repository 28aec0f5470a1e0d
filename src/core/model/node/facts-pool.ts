import { limits } from "../../../limits.ts";
import type { FactEntry, NodeFacts } from "./node-facts.ts";

/**
 * Stores equal lists of entries once: a thousand equal machines have the same software, and a list of
 * packages may take a megabyte. It drops the list that was shared longest ago first; the only cost is a
 * second copy.
 */
export class FactsPool {
  readonly #lists = new Map<string, readonly FactEntry[]>();
  #chars = 0;

  share(facts: NodeFacts): NodeFacts {
    const software: Record<string, readonly FactEntry[]> = {};
    for (const [name, entries] of Object.entries(facts.software)) {
      software[name] = this.#shareList(entries);
    }
    return { ...facts, software };
  }

  #shareList(entries: readonly FactEntry[]): readonly FactEntry[] {
    const text = JSON.stringify(entries);
    const known = this.#lists.get(text);
    if (known !== undefined) {
      this.#lists.delete(text);
      this.#lists.set(text, known);
      return known;
    }
    this.#lists.set(text, entries);
    this.#chars += text.length;
    for (const oldest of this.#lists.keys()) {
      if (this.#chars <= limits.sharedFactsCharsMax) break;
      this.#lists.delete(oldest);
      this.#chars -= oldest.length;
    }
    return entries;
  }
}
