import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import { identityOf, isAlive, type ProcessIdentity } from "../../proc.ts";

/** The owner of a directory in shared memory. Shared memory does not survive a boot, so pids identify processes. */
interface Owner extends ProcessIdentity {
  /** The agent's data directory: removed when no agent will read its runs again. */
  readonly data: string;
}

const HEAD = "busbar-progress-";
const TAIL = ".agent";

export const progressDirectoryNamed = (memory: string, tag: string): string =>
  join(memory, `${HEAD}${tag}`);

/** Records beside the directory that this process uses it. False: another user has a file there. */
export function claimProgressDirectory(path: string, data: string): boolean {
  const self = identityOf(process.pid);
  invariant(self !== undefined, "this process has a line in /proc");
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
  try {
    const file = openSync(`${path}${TAIL}`, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    writeSync(file, JSON.stringify({ ...self, data } satisfies Owner));
    closeSync(file);
    return true;
  } catch {
    return false;
  }
}

export const unclaimProgressDirectory = (path: string): void =>
  rmSync(`${path}${TAIL}`, { force: true });

export function removeProgressDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
  unclaimProgressDirectory(path);
}

/**
 * Removes the leftovers of this user's agents that will not return: their process has ended, they have no active runs, and their directory
 * is empty or unreadable for any agent, because the agent's data directory is removed too. Returns how many. `tagsInUse`: tags of active
 * runs of any agent.
 */
export function removeProgressLeftovers(
  memory: string,
  tagsInUse: () => ReadonlySet<string>,
): number {
  let removed = 0;
  let used: ReadonlySet<string> | undefined;
  for (const tag of tagsIn(memory).slice(0, limits.progressLeftoversMax)) {
    const path = progressDirectoryNamed(memory, tag);
    const owner = ownerOf(`${path}${TAIL}`);
    if (owner === undefined || isAlive(owner) || !isUseless(path, owner)) continue;
    used ??= tagsInUse();
    if (!used.has(tag) && removeUnclaimed(path)) removed++;
  }
  return removed;
}

function tagsIn(memory: string): string[] {
  try {
    const names = readdirSync(memory).filter((name) => name.startsWith(HEAD));
    return names
      .filter((name) => name.endsWith(TAIL))
      .map((name) => name.slice(HEAD.length, -TAIL.length));
  } catch {
    return []; // no such directory
  }
}

/** Undefined: it is another user's, or invalid. */
function ownerOf(file: string): Owner | undefined {
  try {
    const stats = lstatSync(file);
    if (!stats.isFile() || stats.uid !== process.getuid?.()) return undefined;
    const { pid, startTicks, data } = JSON.parse(readFileSync(file, "utf8")) as Partial<Owner>;
    const isWhole = pid !== undefined && startTicks !== undefined && data !== undefined;
    return isWhole ? { pid, startTicks, data } : undefined;
  } catch {
    return undefined;
  }
}

function isUseless(path: string, { data }: Owner): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return true;
  const isOwn = stats.isDirectory() && stats.uid === process.getuid?.();
  return isOwn && (!existsSync(data) || readdirSync(path).length === 0);
}

/** An agent that starts over this data meanwhile claims the directory before it makes it: then this moves the directory back. */
function removeUnclaimed(path: string): boolean {
  const claim = `${path}${TAIL}`;
  const aside = `${path}.${process.pid}.gone`;
  try {
    renameSync(claim, `${aside}${TAIL}`);
  } catch {
    return false; // another process was faster
  }
  const owner = ownerOf(`${aside}${TAIL}`);
  if (owner !== undefined && isAlive(owner)) {
    renameSync(`${aside}${TAIL}`, claim);
    return false;
  }
  const isThere = existsSync(path);
  if (isThere) renameSync(path, aside);
  const isClaimed = existsSync(claim);
  if (isClaimed && isThere && !existsSync(path)) renameSync(aside, path);
  removeProgressDirectory(aside);
  return !isClaimed;
}
