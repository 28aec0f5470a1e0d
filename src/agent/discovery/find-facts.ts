import type { FactEntry, NodeFacts, Software } from "../../core/model/node/node-facts.ts";
import { NO_FACTS } from "../../core/model/node/node-facts.ts";
import { limits } from "../../limits.ts";
import type { CgroupLimits } from "./cgroup.ts";
import { readCgroupLimits } from "./cgroup.ts";
import { compilers } from "./compilers.ts";
import { parseCpuinfo } from "./cpu.ts";
import { parseAllowedCpus } from "./cpu-list.ts";
import { describeGpus, findGpus } from "./gpus.ts";
import type { Machine } from "./machine.ts";
import { mpiPrograms } from "./mpi.ts";
import { countNuma } from "./numa.ts";
import { findKernel, findOs } from "./os.ts";
import { findPrograms } from "./programs.ts";
import type { Spack } from "./spack.ts";

/** Facts from a few small files: fast enough to be known before Hello. */
export interface Hardware {
  readonly sockets: number;
  readonly numa: number;
  readonly gpus: number;
  readonly cgroup: CgroupLimits;
  readonly software: Software;
}

export const NO_HARDWARE: Hardware = {
  sockets: 0,
  numa: 0,
  gpus: 0,
  cgroup: { cpu: undefined, memoryBytes: undefined },
  software: {},
};

export async function findHardware(machine: Machine): Promise<Hardware> {
  const allowed = parseAllowedCpus((await machine.read("/proc/self/status")) ?? "");
  const [cpuinfo, numa, gpus, cgroup, os, kernel] = await Promise.all([
    machine.read("/proc/cpuinfo"),
    countNuma(machine, allowed),
    findGpus(machine),
    readCgroupLimits(machine),
    findOs(machine),
    findKernel(machine),
  ]);
  const { sockets, entries: cpu } = parseCpuinfo(cpuinfo ?? "", allowed);
  const arch = machine.arch === "" ? [] : [{ name: machine.arch }];
  const software = withoutEmpty({ os, kernel, arch, cpu, gpu: gpus.entries });
  return { sockets, numa, gpus: gpus.count, cgroup, software };
}

/** Facts that only programs can report: this takes seconds, while tasks run. */
export async function findSoftware(
  machine: Machine,
  hardware: Hardware,
  spack: Spack,
): Promise<Software> {
  return withoutEmpty({
    gpu: await describeGpus(machine, hardware.software["gpu"] ?? []),
    mpi: await findPrograms(machine, mpiPrograms),
    compiler: await findPrograms(machine, compilers),
    spack: await spack.find(machine),
  });
}

const withoutEmpty = (software: Software): Software =>
  Object.fromEntries(Object.entries(software).filter(([, entries]) => entries.length > 0));

/**
 * All discovered facts, within the limits of the server: it drops the last entries of the longest list, never all of a short one, and
 * truncates texts.
 */
export function toFacts(hardware: Hardware, software: Software): NodeFacts {
  const lists = Object.entries({ ...hardware.software, ...software }).map(
    ([name, entries]) => [name, entries.map(cutTexts)] as const,
  );
  const found = new Map<string, readonly FactEntry[]>(lists);
  const factsOf = (): NodeFacts => {
    const { sockets, numa, gpus } = hardware;
    return { ...NO_FACTS, sockets, numa, gpus, software: Object.fromEntries(found) };
  };
  const sum = (): number => [...found.values()].reduce((total, { length }) => total + length, 0);
  while (
    sum() > limits.factsEntriesMax ||
    JSON.stringify(factsOf()).length > limits.factsCharsMax - OFFERED_CHARS_MAX
  ) {
    const [name, longest] = [...found].reduce((most, each) =>
      JSON.stringify(each[1]).length > JSON.stringify(most[1]).length ? each : most,
    );
    found.set(name, longest.slice(0, Math.floor(longest.length * 0.9)));
  }
  return factsOf();
}

/** Reserved for the names and amounts of offered resources, which are added later. */
const OFFERED_CHARS_MAX = 8_192;

const cutTexts = (entry: FactEntry): FactEntry =>
  Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [
      name,
      typeof value === "string" ? value.slice(0, limits.factTextLengthMax) : value,
    ]),
  );
