import type { Machine } from "./machine.ts";

/** The CPUs and memory that control groups allow; undefined: no limit. */
export interface CgroupLimits {
  readonly cpu: number | undefined;
  readonly memoryBytes: number | undefined;
}

const ROOT = "/sys/fs/cgroup";

/** Control groups version 2: the smallest limit of the own group and of all its parents. */
export async function readCgroupLimits(machine: Machine): Promise<CgroupLimits> {
  const own = parseOwnGroup((await machine.read("/proc/self/cgroup")) ?? "");
  const read = async (name: string): Promise<readonly string[]> => {
    const texts = await Promise.all(
      groupsUpwards(own).map((group) => machine.read(`${ROOT}${group}/${name}`)),
    );
    return texts.filter((text) => text !== undefined);
  };
  const [cpu, memory] = await Promise.all([read("cpu.max"), read("memory.max")]);
  return { cpu: least(cpu.map(parseCpuMax)), memoryBytes: least(memory.map(parseMemoryMax)) };
}

/** "/a/b" from the line "0::/a/b"; a path that leads out of the visible root counts as the root. */
export function parseOwnGroup(text: string): string {
  const path = /^0::(\/.*)$/m.exec(text)?.[1] ?? "/";
  return path.split("/").includes("..") ? "/" : path;
}

function groupsUpwards(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "");
  return ["", ...parts.map((_, at) => `/${parts.slice(0, at + 1).join("/")}`)];
}

/** "150000 100000" is one and a half processors, "max 100000" all of them. */
export function parseCpuMax(text: string): number | undefined {
  const match = /^(\d{1,15}) (\d{1,15})\s*$/.exec(text);
  if (match === null) return undefined;
  // In thousandths, as capacities are; never 0, because then no agent would be needed.
  const cpu = Math.floor((Number(match[1]) / Number(match[2])) * 1_000) / 1_000;
  return Number.isFinite(cpu) && cpu > 0 ? cpu : undefined;
}

export const parseMemoryMax = (text: string): number | undefined =>
  /^\d{1,15}\s*$/.test(text) && Number(text) > 0 ? Number(text) : undefined;

function least(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
