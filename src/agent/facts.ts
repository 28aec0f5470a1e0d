import type { Hardware } from "./discovery/find-facts.ts";

/** Amounts in units for people: cpus, bytes, devices. */
export type ResourceAmounts = Readonly<Record<string, number>>;

/**
 * The capacity that an agent offers: that of the system, reduced by control groups, and the discovered GPUs. Amounts that the operator
 * names override all of it.
 */
export function offeredAmounts(
  system: ResourceAmounts,
  { cgroup, gpus }: Hardware,
  own: ResourceAmounts,
): ResourceAmounts {
  const { cpu = 0, memory = 0 } = system;
  return {
    ...system,
    cpu: Math.min(cpu, cgroup.cpu ?? cpu),
    memory: Math.min(memory, cgroup.memoryBytes ?? memory),
    ...(gpus === 0 ? {} : { gpu: gpus }),
    ...own,
  };
}
