import { readdirSync, readFileSync } from "node:fs";

// The kernel reports CPU time in hundredths of a second on every Linux (USER_HZ).
const MS_PER_TICK = 10;

export interface CpuMs {
  /** The first thread: in a server or an agent, the one that decides. */
  readonly main: number;
  /** All other threads: the store's, the garbage collector's, the compiler's. */
  readonly others: number;
  /** Children that have ended and were waited for. */
  readonly children: number;
  /** For an agent: its launchers, with the commands they started. */
  readonly launchers: number;
}

export function readCpu(pid: number): CpuMs {
  const all = readTimes(`/proc/${pid}/stat`);
  const main = readTimes(`/proc/${pid}/task/${pid}/stat`).own;
  const launchers = readLaunchersMs(pid);
  return { main, others: all.own - main, children: all.children, launchers };
}

/** Fields of a stat file of /proc, from the third on. */
function readFields(file: string): string[] {
  const text = readFileSync(file, "utf8");
  // The name may contain blanks and brackets; the fields from the third on follow the last bracket.
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function readTimes(file: string): { readonly own: number; readonly children: number } {
  const fields = readFields(file);
  const ticks = (number: number): number => Number(fields[number - 3]) * MS_PER_TICK;
  return { own: ticks(14) + ticks(15), children: ticks(16) + ticks(17) };
}

/**
 * CPU of an agent's launchers and their lanes, with their ended commands. Launchers are children of the agent, and lanes are in the
 * sessions that those lead.
 */
function readLaunchersMs(agentPid: number): number {
  const launchers = new Set<number>();
  const sessionOf = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    try {
      if (!Number.isInteger(pid)) continue;
      const [, parent, , session] = readFields(`/proc/${pid}/stat`).map(Number);
      if (parent === agentPid) launchers.add(pid);
      sessionOf.set(pid, session ?? 0);
    } catch {
      // ended while we looked
    }
  }
  let sum = 0;
  for (const [pid, session] of sessionOf) {
    if (!launchers.has(session)) continue;
    try {
      const { own, children } = readTimes(`/proc/${pid}/stat`);
      sum += own + children;
    } catch {
      // the same
    }
  }
  return sum;
}

/** Resident memory in bytes. */
export function readRss(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Measures the CPU time of processes from now on; returns a function that reports it, by process and per task. */
export function startMeter(
  pids: Readonly<Record<string, number>>,
): (tasks: number) => Record<string, number> {
  const before = Object.entries(pids).map(([name, pid]) => ({ name, pid, cpu: readCpu(pid) }));
  return (tasks) => {
    const spent: Record<string, number> = {};
    for (const { name, pid, cpu } of before) {
      const now = readCpu(pid);
      spent[name] = (now.main - cpu.main) / tasks;
      spent[`${name} threads`] = (now.others - cpu.others) / tasks;
      const children = (now.children - cpu.children) / tasks;
      if (children > 0) spent[`${name} children`] = children;
      const launchers = (now.launchers - cpu.launchers) / tasks;
      if (launchers > 0) spent["launchers and tasks"] = launchers;
    }
    return spent;
  };
}
