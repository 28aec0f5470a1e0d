import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Resources } from "../../core/model/resources.ts";
import { limits } from "../../limits.ts";
import { makeDirectory } from "../../lib/make-directory.ts";

/**
 * What runs need, by key, in the agent's directory: an executor finds its runs again after kill -9,
 * but does not know what they were given. Best effort: without it a run counts as needing nothing
 * that was named, and a disk that is full is told by those who cannot do without it.
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

  /** Before the run is started, so that there is no run without it. */
  add(key: string, needs: Resources): void {
    this.#needs.set(key, needs);
    this.#append({ key, needs });
  }

  remove(key: string): void {
    if (this.#needs.delete(key)) this.#append({ key });
  }

  /** Forgets all but these: what the executor does not know any more will not be removed by anyone. */
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

  /** A last line that was cut off, or nonsense, is passed over. */
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
