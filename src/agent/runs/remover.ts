import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync } from "node:fs";
import { rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { describeChain } from "../../lib/errors.ts";
import type { Logger } from "../../ports/logger.ts";

/** Deletes in the background: a run may leave a million files, and a busy disk is slow. */
export interface Remover {
  /** Frees `path` at once; deletes its content in the background. */
  remove(path: string): void;
  /** Removes the script of a run and its own working directory; its output stays. */
  removeWork(directory: string): void;
  /** Creates its own directory again if it is missing. */
  restore(): void;
  /** Resolves when nothing is left to delete. */
  idle(): Promise<void>;
}

/** Files go to `trash` first. Leftovers of an earlier process there are deleted too. */
export function createRemover(trash: string, logger: Logger): Remover {
  let tail: Promise<void> = Promise.resolve();
  let count = 0;

  function complain(error: unknown): void {
    logger.warn({ error: describeChain(error) }, "could not delete the files of a run");
  }

  function enqueue(path: string): void {
    tail = tail.then(() => removeAll(path)).catch(complain);
  }

  function remove(path: string): void {
    count += 1;
    const aside = join(bin, String(count));
    try {
      renameSync(path, aside);
    } catch (error) {
      if (!isMissing(error)) complain(error);
      return;
    }
    enqueue(aside);
  }

  async function removeWork(directory: string): Promise<void> {
    await unlink(join(directory, "script")).catch((error: unknown) => {
      if (!isMissing(error)) complain(error);
    });
    const work = join(directory, "work");
    await rmdir(work).catch(() => remove(work)); // usually it is empty
  }

  mkdirSync(trash, { recursive: true });
  for (const left of readdirSync(trash)) enqueue(join(trash, left));
  const bin = mkdtempSync(join(trash, "life-"));

  return {
    remove,
    restore: () => void mkdirSync(bin, { recursive: true }),
    removeWork(directory) {
      tail = Promise.all([tail, removeWork(directory)]).then(() => undefined, complain);
    },
    async idle() {
      for (let seen: unknown; seen !== tail;) {
        seen = tail;
        await tail; // which may add to it
      }
    },
  };
}

/** A process that is being killed may still write. */
const RETRIES = 5;

/** Tasks make directories that lie deeper than any path can name, and some that their owner cannot enter or change (Go's modules). */
const REMOVE = 'chmod -R u+rwx -- "$1" 2>/dev/null; exec rm -rf -- "$1"';

async function removeAll(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: RETRIES });
  } catch (error) {
    await execute("/bin/sh", ["-c", REMOVE, "sh", path]).catch(() => undefined);
    if (existsSync(path)) throw error;
  }
}

const execute = promisify(execFile);

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT";
