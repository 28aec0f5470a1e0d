import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";

/** File systems that several machines have under the same source. */
const SHARED =
  /^(?:nfs4?|cifs|smb3|lustre|gpfs|beegfs\w*|ceph|afs|orangefs|pvfs2|9p|virtiofs|fuse\.(?:ceph|glusterfs|sshfs|juicefs|lustre|beegfs))$/;

/**
 * A text that is the same for the same directory, also when another machine looks at it through a shared
 * file system, and another one for a different directory of that path. On a file system of one machine it
 * names that machine; it survives a restart. Undefined: there is no such directory.
 */
export function identifyDirectory(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return undefined;
  const { type, source } = mountOf(stat.dev, readMounts());
  if (SHARED.test(type)) return `shared ${type} ${source} ${stat.ino}`;
  return `local ${machineId()} ${hostname()} ${stat.ino} ${stat.birthtimeNs}`;
}

/** Whether machines that share the file system have the directory under this identity, too. */
export const isSharedDirectory = (id: string): boolean => id.startsWith("shared ");

interface Mount {
  readonly type: string;
  readonly source: string;
}

/** The file system with this device number, by the lines of /proc/self/mountinfo. */
export function mountOf(device: bigint, mountinfo: string): Mount {
  const major = ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn);
  const minor = (device & 0xffn) | ((device >> 12n) & ~0xffn);
  for (const line of mountinfo.split("\n")) {
    const [own = "", other = ""] = line.split(" - ");
    if (own.split(" ")[2] !== `${major}:${minor}`) continue;
    const [type = "", source = ""] = other.split(" ");
    return { type, source };
  }
  return { type: "", source: "" };
}

function readMounts(): string {
  return readText("/proc/self/mountinfo") ?? "";
}

/** Containers may have none; then the kernel's id of this boot tells machines apart. */
function machineId(): string {
  const own = readText("/etc/machine-id")?.trim();
  if (own !== undefined && own !== "") return own;
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // not on this kind of machine
  }
}
