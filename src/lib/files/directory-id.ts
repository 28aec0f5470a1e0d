import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";

/** File systems that several machines mount from the same source. */
const SHARED =
  /^(?:nfs4?|cifs|smb3|lustre|gpfs|beegfs\w*|ceph|afs|orangefs|pvfs2|9p|virtiofs|fuse\.(?:ceph|glusterfs|sshfs|juicefs|lustre|beegfs))$/;

/**
 * A text that identifies a directory. It is the same when another machine sees the directory through a shared file system, and differs when
 * another directory takes the path. On a local file system it names the machine; it survives a restart. Undefined: there is no such
 * directory.
 */
export function identifyDirectory(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return undefined;
  const { type, source } = mountOf(stat.dev, readMounts());
  if (SHARED.test(type)) return `shared ${type} ${source} ${stat.ino}`;
  return `local ${machineId()} ${hostname()} ${stat.ino} ${stat.birthtimeNs}`;
}

/** Whether other machines that mount the file system see the directory under the same id. */
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

/** Containers may have none; then the kernel's boot id distinguishes machines. */
function machineId(): string {
  const own = readText("/etc/machine-id")?.trim();
  if (own !== undefined && own !== "") return own;
  return readText("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // this operating system has none
  }
}
