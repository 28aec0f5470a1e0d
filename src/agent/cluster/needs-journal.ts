import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Resources } from "../../core/model/resources.ts";
import { limits } from "../../limits.ts";
import { makeDirectory } from "../../lib/make-directory.ts";

/**
 * The requested resources of runs, by key, in the agent's directory: an executor finds its runs again after kill -9, but not their
 * requests. Best effort: a run without an entry counts as one that requests nothing by name, and the journals that the agent depends on
 * report a full disk.
 */
export class NeedsJournal {
  readonly #path: string;
  readonly #needs = new Map<string, Resources>();
  #lines = 0;

  constructor(directory: string) {
    makeDirectory(directory);
    this.#path = join(directory, "needs.jsonl");
    for (const line of readLines(this.#path)) this.#replay(line);
  }

  get(key: string): Resources | undefined {
    return this.#needs.get(key);
  }

  /** Call this before the start of the run, so that no run lacks an entry. */
  add(key: string, needs: Resources): void {
    this.#needs.set(key, needs);
    this.#append({ key, needs });
  }

  remove(key: string): void {
    if (this.#needs.delete(key)) this.#append({ key });
  }

  /** Removes all other entries: no other step removes entries of runs that the executor no longer knows. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#needs.keys()) if (!keys.has(key)) this.#needs.delete(key);
    this.#rewrite();
  }

  #append(entry: object): void {
    this.#lines += 1;
    if (this.#lines > limits.journalEntriesMin && this.#lines > 2 * this.#needs.size) {
      return this.#rewrite();
    }
    bestEffort(() => appendFileSync(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 }));
  }

  #rewrite(): void {
    const lines = Array.from(this.#needs, ([key, needs]) => `${JSON.stringify({ key, needs })}\n`);
    this.#lines = lines.length;
    bestEffort(() => {
      writeFileSync(`${this.#path}.new`, lines.join(""), { mode: 0o600 });
      renameSync(`${this.#path}.new`, this.#path);
    });
  }

  /** Skips a truncated or invalid last line. */
  #replay(line: string): void {
    bestEffort(() => {
      const { key, needs } = JSON.parse(line) as { key: string; needs?: Resources };
      if (needs === undefined) this.#needs.delete(key);
      else this.#needs.set(key, needs);
    });
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

function bestEffort(act: () => void): void {
  try {
    act();
  } catch {
    // see above
  }
}
