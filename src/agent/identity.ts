import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AppError } from "../lib/errors.ts";
import { makeDirectory } from "../lib/make-directory.ts";
import type { Random } from "../ports/random.ts";

const KEY_BYTES = 32;

/** The secret by which the server recognizes this agent: made on the first start, stored in `directory`, readable by its owner only. */
export function readAgentKey(directory: string, random: Random): string {
  const path = join(directory, "agent.key");
  try {
    makeDirectory(directory);
    return checkKey(read(path) ?? create(path, random.token(KEY_BYTES)), path);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("unavailable", "open the agent's key", { cause });
  }
}

/** A recreated directory lacks the key; without it the server would not recognize the agent at its next start. */
export function restoreAgentKey(directory: string, key: string): void {
  const path = join(directory, "agent.key");
  if (read(path) === undefined) create(path, key);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Never visible half written, and never replaced: two simultaneous first starts get the same key. */
function create(path: string, key: string): string {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${key}\n`, { mode: 0o600 });
  try {
    linkSync(temporary, path);
    return key;
  } catch (error) {
    const other = read(path);
    if (other === undefined) throw error;
    return other;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function checkKey(key: string, path: string): string {
  if (/^[0-9a-f]{32,}$/.test(key)) return key;
  const what = `${path} is damaged: delete it and remove the node on the server (busbar nodes remove NAME), then start the agent again`;
  throw new AppError("internal", what);
}
