import { parseCpuList } from "./cpu-list.ts";
import type { Machine } from "./machine.ts";

const FOLDER = "/sys/devices/system/node";

/**
 * The number of memory domains with at least one usable processor. Domains without any (devices, far memory) cannot run work. 0: unknown.
 */
export async function countNuma(
  machine: Machine,
  allowed: ReadonlySet<number> | undefined,
): Promise<number> {
  const names = (await machine.list(FOLDER)).filter((name) => /^node\d+$/.test(name));
  const lists = await Promise.all(names.map((name) => machine.read(`${FOLDER}/${name}/cpulist`)));
  return lists.filter((text) => {
    const cpus = text === undefined ? undefined : parseCpuList(text);
    return cpus !== undefined && [...cpus].some((cpu) => allowed?.has(cpu) ?? true);
  }).length;
}
