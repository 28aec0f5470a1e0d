import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";

/** The files that umoci opens to find the number of the image's user. */
const USER_FILES = ["/etc/passwd", "/etc/group"];
const LINKS_MAX = 255; // umoci follows as many

/**
 * The path of a user file of the image that is a FIFO, a device or a socket; undefined: none is. umoci opens them as this user and outside of
 * any container: a FIFO would stop it for ever, and a device is one of this machine, which even an attempt to read may start or change.
 */
export function findSpecialUserFile(root: string): string | undefined {
  return USER_FILES.find((path) => {
    const found = statOf(insideRoot(root, path));
    if (found === undefined) return false;
    return found.isFIFO() || found.isSocket() || found.isCharacterDevice() || found.isBlockDevice();
  });
}

/** Where a path leads in a container with this root. As umoci reads it, a missing directory is one like others: ".." leads out of it. */
function insideRoot(root: string, path: string): string {
  const left = path.split("/").toReversed();
  let at: string[] = [];
  let links = 0;
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      at.pop();
      continue;
    }
    const next = join(root, ...at, name);
    if (statOf(next)?.isSymbolicLink() === true && links < LINKS_MAX) {
      links += 1;
      const target = readlinkSync(next);
      if (target.startsWith("/")) at = [];
      left.push(...target.split("/").toReversed());
    } else {
      at.push(name);
    }
  }
  return join(root, ...at);
}

const statOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a path that is too long, or below a directory that this user may not read: umoci cannot open it
  }
};
