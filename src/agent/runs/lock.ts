import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { identityOf, isAlive } from "../proc.ts";

interface Holder {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

/**
 * Locks `directory` for this process; returns the function that unlocks it. Two agents over one directory
 * would both report its runs. A lock of an ended process, or of an earlier boot, is taken over.
 * Node has no flock, so this is a file made by link(2), which fails when there is one already.
 */
export function lockDirectory(directory: string, bootId: string): () => void {
  const path = join(directory, "lock");
  const own = `${path}.${process.pid}`;
  const self = identityOf(process.pid);
  invariant(self !== undefined, "this process has a line in /proc");
  writeFileSync(own, JSON.stringify({ ...self, bootId } satisfies Holder), { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      if (tryLink(own, path)) return () => rmSync(path, { force: true });
      moveAwayStale(path, bootId);
    }
  } finally {
    rmSync(own, { force: true });
  }
  throw new AppError("conflict", `${directory}: another agent is taking it right now`);
}

function tryLink(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (cause) {
    if (isCode(cause, "EEXIST")) return false;
    throw new AppError("unavailable", `lock ${path}`, { cause });
  }
}

/** Of two processes that find the same stale lock, one could move away the other's new one: it checks again. */
function moveAwayStale(path: string, bootId: string): void {
  refuseLive(path, path, bootId);
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return;
    throw new AppError("unavailable", `take over ${path}`, { cause });
  }
  try {
    refuseLive(aside, path, bootId);
  } catch (refusal) {
    tryLink(aside, path);
    throw refusal;
  } finally {
    rmSync(aside, { force: true });
  }
}

function refuseLive(file: string, path: string, bootId: string): void {
  let holder: Holder;
  try {
    holder = JSON.parse(readFileSync(file, "utf8")) as Holder;
  } catch {
    return; // missing, or damaged: its writer is not a live agent
  }
  if (holder.bootId !== bootId || !isAlive(holder)) return;
  throw new AppError("conflict", `${path}: the agent with pid ${holder.pid} uses this directory`);
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
