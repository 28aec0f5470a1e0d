import { readFileSync, readdirSync } from "node:fs";

/** One process as /proc shows it; the kernel may have given its pid to another process since. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since boot: with the pid, unique within one boot. */
  readonly startTicks: string;
}

interface ProcessStat extends ProcessIdentity {
  readonly isDead: boolean; // a zombie no longer runs, even if its parent never reaps it
  readonly group: number;
  readonly session: number;
}

/** Parses one line of /proc/<pid>/stat. The name in it may contain anything, also ")" and spaces. */
export function parseProcessStat(line: string): ProcessStat | undefined {
  const nameEnd = line.lastIndexOf(")");
  const pid = Number.parseInt(line, 10);
  if (nameEnd < 0 || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const fields = line.slice(nameEnd + 2).split(" "); // fields[0] is field 3 of proc(5)
  const [state, , group, session] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  const isDead = state === "Z" || state === "X";
  return { pid, startTicks, isDead, group: Number(group), session: Number(session) };
}

function readProcessStat(pid: number): ProcessStat | undefined {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return undefined; // ended, perhaps while we read
  }
}

/** Whether exactly this process still runs. */
export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readProcessStat(identity.pid);
  return stat !== undefined && !stat.isDead && stat.startTicks === identity.startTicks;
}

export function identityOf(pid: number): ProcessIdentity | undefined {
  const stat = readProcessStat(pid);
  return stat === undefined ? undefined : { pid: stat.pid, startTicks: stat.startTicks };
}

export interface Member {
  readonly pid: number;
  readonly group: number;
}

/**
 * The live processes of the given sessions, by session. One pass over /proc serves any number of
 * sessions: it costs about 15 us per process of the machine.
 */
export function membersOf(sessions: ReadonlySet<number>): Map<number, Member[]> {
  const members = new Map<number, Member[]>();
  if (sessions.size === 0) return members;
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readProcessStat(pid);
    if (stat === undefined || stat.isDead || !sessions.has(stat.session)) continue;
    const found = members.get(stat.session);
    if (found === undefined) members.set(stat.session, [stat]);
    else found.push(stat);
  }
  return members;
}

/** Changes with each restart of the machine. */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
}
