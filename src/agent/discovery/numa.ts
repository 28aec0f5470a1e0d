import { parseCpuList } from "./cpu-list.ts";
import type { Machine } from "./machine.ts";

const FOLDER = "/sys/devices/system/node";

/**
 * How many memory domains have a processor that counts. Those without any (devices, far memory) are
 * not parts of the machine that work could be put into. 0: not known.
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
