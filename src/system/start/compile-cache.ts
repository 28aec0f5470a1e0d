import { lstatSync, mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function useCompileCache(): void {
  const directory = ownCacheDirectory();
  if (directory !== undefined) enableCompileCache(directory);
}

/**
 * The directory for Node's cache of compiled code; undefined: there is none that only this user can write to. Node runs code of the
 * cache as it is, and its default directory below /tmp belongs to the first user who makes it: that user could run code as any other.
 */
export function ownCacheDirectory(parent = tmpdir(), uid = process.getuid?.()): string | undefined {
  const directory = join(parent, `busbar-compile-cache-${uid}`);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch {
    // It exists, or there is no cache.
  }
  try {
    const found = lstatSync(directory);
    const isOwn = found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0;
    return isOwn ? directory : undefined;
  } catch {
    return undefined;
  }
}
