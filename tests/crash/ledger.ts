import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A task's own record: that it began, or ended. */
export interface LedgerLine {
  readonly jobId: string;
  readonly index: number;
  readonly attempt: number;
  readonly node: string;
  readonly pid: number;
}

export interface Ledger {
  readonly started: readonly LedgerLine[];
  readonly ended: readonly LedgerLine[];
}

export const readLedger = (directory: string): Ledger => ({
  started: readLines(join(directory, "started")),
  ended: readLines(join(directory, "ended")),
});

function readLines(path: string): LedgerLine[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return text.split("\n").filter(Boolean).map(parseLine);
}

export function parseLine(line: string): LedgerLine {
  const match = /^(\d+) (\d+) (\d+) (\S+) (\d+)$/.exec(line);
  if (match === null) throw new Error(`a torn line in the ledger: ${JSON.stringify(line)}`);
  const [, jobId = "", index, attempt, node = "", pid] = match;
  return { jobId, index: Number(index), attempt: Number(attempt), node, pid: Number(pid) };
}
