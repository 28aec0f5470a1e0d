import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";

/**
 * Removes a directory with what containers and images left in it. A user who is not root may own directories that he cannot
 * enter, as images have them and overlays make them; as root of a user namespace he can.
 */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (process.getuid?.() === 0) throw error;
    spawnSync("unshare", ["--user", "--map-root-user", "rm", "-rf", "--", path]);
    if (existsSync(path)) throw error;
  }
}
