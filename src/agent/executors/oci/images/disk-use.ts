import { closeSync, constants, lstatSync, opendirSync, openSync, type Stats } from "node:fs";

/** The disk space and the files of a directory, with everything below it. */
export interface DiskUse {
  readonly bytes: number;
  readonly files: number;
}

const BLOCK_BYTES = 512;
/** Below a longer path, names are relative to a descriptor of its directory: images may be deeper than any path can name. */
const PATH_BYTES_MAX = 2_000;

type Left = { readonly path: Buffer } | { readonly opened: number };

/**
 * Yields a sum for each file that it has added, the last one for all. Holes of files use no space, and hard links to one file use it once.
 * Leaves out directories that only root could read: containers may use them all the same. Files may come and go meanwhile.
 */
export function* measuring(directory: string): Generator<DiskUse> {
  let bytes = 0;
  let files = 0;
  const linked = new Set<string>();
  const left: Left[] = [{ path: Buffer.from(directory) }];
  try {
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if ("opened" in at) {
        closeSync(at.opened);
        continue;
      }
      for (const path of entriesOf(reach(at.path, left))) {
        const found = unlessGone(() => lstatSync(path));
        if (found === undefined) continue;
        if (found.isDirectory()) left.push({ path });
        if (isFirst(found, linked)) bytes += found.blocks * BLOCK_BYTES;
        files += 1;
        yield { bytes, files };
      }
    }
  } finally {
    for (const each of left) if ("opened" in each) closeSync(each.opened);
  }
}

/** The same at once. */
export function measure(directory: string): DiskUse {
  let use: DiskUse = { bytes: 0, files: 0 };
  for (use of measuring(directory));
  return use;
}

/** False: it is another link to a file that was found before. */
function isFirst(found: Stats, linked: Set<string>): boolean {
  if (found.nlink === 1 || found.isDirectory()) return true;
  const id = `${found.dev} ${found.ino}`;
  if (linked.has(id)) return false;
  linked.add(id);
  return true;
}

/** A path that the kernel accepts, of the same directory; its descriptor is closed when everything below has been measured. */
function reach(path: Buffer, left: Left[]): Buffer {
  if (path.length < PATH_BYTES_MAX) return path;
  const opened = unlessGone(() => openSync(path, constants.O_RDONLY | constants.O_DIRECTORY));
  if (opened === undefined) return path;
  left.push({ opened });
  return Buffer.from(`/proc/self/fd/${opened}`);
}

/** Names are bytes, which need not be text: latin1 keeps each of them. */
function* entriesOf(directory: Buffer): Generator<Buffer> {
  const entries = unlessGone(() => opendirSync(directory, { encoding: "latin1" }));
  if (entries === undefined) return;
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      yield Buffer.concat([directory, Buffer.from(`/${entry.name}`, "latin1")]);
    }
  } finally {
    entries.closeSync();
  }
}

const GONE = ["ENOENT", "ENOTDIR", "EACCES"];

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof Error && "code" in error && GONE.includes(String(error.code)))
      return undefined;
    throw error;
  }
}
