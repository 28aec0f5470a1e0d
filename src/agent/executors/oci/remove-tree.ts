import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";

/**
 * Removes a directory with the files of containers and images. They may lie deeper than any path can name, which is no matter to `rm`. A user
 * who is not root may own directories that they cannot enter, from images and overlays; as root of a user namespace they can.
 */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    const remove = ["rm", "-rf", "--", path];
    if (process.getuid?.() === 0) spawnSync("rm", remove.slice(1));
    else spawnSync("unshare", ["--user", "--map-root-user", ...remove]);
    if (existsSync(path)) throw error;
  }
}
