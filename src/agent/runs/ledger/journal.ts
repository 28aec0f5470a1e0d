import { closeSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";

import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

/**
 * Lines of JSON, appended. Not flushed to the disk: the page cache survives a killed agent, and a crash of the machine ends all processes
 * that the journal describes.
 */
export interface Journal<Entry> {
  /** Adds an entry to the next `flush`; the caller must not act on it before. */
  append(entry: Entry): void;
  /** Writes all appended entries at once. Throws `unavailable`; entries that it could not write are lost. */
  flush(): void;
  /** Whether the journal has grown so much that `rewrite` pays off, when `live` entries would remain. */
  isOvergrown(live: number): boolean;
  /** Replaces everything by `entries`, atomically. */
  rewrite(entries: Iterable<Entry>): void;
  close(): void;
}

/**
 * The entries of the journal in `directory`, oldest first, as its user wrote them; none when there is no journal yet. Damaged lines are
 * counted and left out: an agent that refuses to start would manage no runs, and runs without an entry are found by their directories.
 */
export function readJournal(directory: string): { entries: unknown[]; damaged: number } {
  let text: string;
  try {
    text = readFileSync(join(directory, FILE), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return { entries: [], damaged: 0 };
    }
    throw new AppError("unavailable", "read the journal", { cause: error });
  }
  const lines = text.split("\n");
  lines.pop(); // empty, or torn by a crash: no step followed its entry
  const entries = lines.map(parseLine).filter((entry) => entry !== undefined);
  return { entries, damaged: lines.length - entries.length };
}

/** Starts a new journal in `directory` that holds `entries`. */
export function createJournal<Entry>(directory: string, entries: Iterable<Entry>): Journal<Entry> {
  const path = join(directory, FILE);
  let lines = 0;
  let isTorn = false;
  let pending = "";
  let fd = replace(entries);

  function replace(all: Iterable<Entry>): number {
    const text = Array.from(all, (entry) => `${JSON.stringify(entry)}\n`);
    const temporary = openSync(`${path}.new`, "w", 0o600);
    try {
      writeWhole(temporary, text.join(""));
      renameSync(`${path}.new`, path);
    } catch (error) {
      closeSync(temporary);
      throw error;
    }
    lines = text.length;
    return temporary;
  }

  return {
    append(entry) {
      pending += `${JSON.stringify(entry)}\n`;
      lines += 1;
    },
    flush() {
      if (pending === "") return;
      const text = `${isTorn ? "\n" : ""}${pending}`;
      pending = "";
      try {
        writeWhole(fd, text);
        isTorn = false;
      } catch (cause) {
        isTorn = true; // a full disk may have accepted a part of the line
        throw new AppError("unavailable", "write the journal", { cause });
      }
    },
    isOvergrown: (live) => lines > limits.journalEntriesMin && lines > 4 * live,
    rewrite(entries) {
      const old = fd;
      fd = replace(entries);
      pending = ""; // `entries` include them
      closeSync(old);
    },
    close() {
      closeSync(fd);
    },
  };
}

const FILE = "journal.ndjson";

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function writeWhole(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written);
}
