import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { makeDirectory } from "../../../lib/make-directory.ts";
import { limits } from "../../../limits.ts";

/** A spec in the journal, or the name of the file that has it. */
export type KeptSpec = { readonly text: string } | { readonly file: string };

/**
 * Specs of jobs that are not below yet. Long ones are files, named by their content: tasks of an array differ in little, and the journal
 * must not hold a script of a megabyte for each.
 */
export class KeptSpecs {
  readonly #directory: string;
  readonly #users = new Map<string, number>();

  constructor(directory: string) {
    this.#directory = join(directory, "specs");
    makeDirectory(this.#directory);
  }

  /** The caller must release it. Throws when the spec cannot be written. */
  keep(text: string): KeptSpec {
    if (text.length <= limits.siteSpecInlineBytesMax) return { text };
    const file = createHash("sha256").update(text).digest("hex");
    if (!this.#users.has(file)) {
      const path = join(this.#directory, file);
      writeFileSync(`${path}.new`, text, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    }
    this.use({ file });
    return { file };
  }

  /** A run of an earlier process needs it too. */
  use(spec: KeptSpec): void {
    if ("file" in spec) this.#users.set(spec.file, (this.#users.get(spec.file) ?? 0) + 1);
  }

  read(spec: KeptSpec): string {
    return "text" in spec ? spec.text : readFileSync(join(this.#directory, spec.file), "utf8");
  }

  release(spec: KeptSpec): void {
    if (!("file" in spec)) return;
    const left = (this.#users.get(spec.file) ?? 0) - 1;
    if (left > 0) {
      this.#users.set(spec.file, left);
      return;
    }
    this.#users.delete(spec.file);
    rmSync(join(this.#directory, spec.file), { force: true });
  }

  /** Removes unused files of an earlier process. */
  removeStrays(): void {
    for (const name of readdirSync(this.#directory)) {
      if (!this.#users.has(name)) rmSync(join(this.#directory, name), { force: true });
    }
  }
}
