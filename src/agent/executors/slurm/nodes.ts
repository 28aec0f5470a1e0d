/** One node as Slurm reports it. */
export interface SlurmNode {
  readonly name: string;
  readonly cpus: number;
  readonly cpusAllocated: number;
  readonly memoryBytes: number;
  readonly memoryAllocated: number;
  readonly gpus: number;
  readonly gpusAllocated: number;
  readonly features: readonly string[];
  readonly partitions: readonly string[];
  /** It accepts jobs: it is up, and not draining. */
  readonly isUsable: boolean;
}

const MIB = 1024 * 1024;

/** Parses `scontrol show nodes --oneliner`: one line per node, with names and values. */
export function parseNodes(output: string): readonly SlurmNode[] {
  return output.split("\n").flatMap((line) => {
    const name = fieldOf(line, "NodeName");
    if (name === "") return [];
    const number = (field: string): number => Number(fieldOf(line, field)) || 0;
    const list = (field: string): string[] =>
      fieldOf(line, field)
        .split(",")
        .filter((each) => each !== "" && each !== "(null)");
    return [
      {
        name,
        cpus: number("CPUTot"),
        cpusAllocated: number("CPUAlloc"),
        memoryBytes: number("RealMemory") * MIB,
        memoryAllocated: number("AllocMem") * MIB,
        gpus: gpusIn(fieldOf(line, "CfgTRES")) || gpusInGres(fieldOf(line, "Gres")),
        gpusAllocated: gpusIn(fieldOf(line, "AllocTRES")),
        features: list("ActiveFeatures"),
        partitions: list("Partitions"),
        isUsable: isUsable(fieldOf(line, "State")),
      },
    ];
  });
}

/** Values have no blanks, except that of OS, which the agent does not use. */
const fieldOf = (line: string, name: string): string =>
  new RegExp(`(?:^|\\s)${name}=(\\S*)`).exec(line)?.[1] ?? "";

/** "cpu=64,mem=8000M,gres/gpu=4,gres/gpu:a100=4" */
const gpusIn = (amounts: string): number =>
  Number(/(?:^|,)gres\/gpu=(\d+)/.exec(amounts)?.[1] ?? 0);

/** "gpu:a100:4(S:0-1),gpu:2" */
function gpusInGres(gres: string): number {
  let sum = 0;
  for (const [, count] of gres.matchAll(/(?:^|,)gpu(?::[^:,()]+)?:(\d+)/g)) sum += Number(count);
  return sum;
}

/** "IDLE", "MIXED+DRAIN", "DOWN*", "IDLE+CLOUD+POWERED_DOWN": Slurm boots the last one on demand. */
function isUsable(state: string): boolean {
  const [base = "", ...flags] = state.replaceAll(/[*~#!%$@^-]/g, "").split("+");
  const isUp = ["IDLE", "MIXED", "ALLOCATED", "COMPLETING", "RESERVED", "PLANNED"].includes(base);
  const isAway = state.includes("*") || flags.some((flag) => AWAY.includes(flag));
  return isUp && !isAway;
}

const AWAY = ["DRAIN", "DRAINED", "FAIL", "MAINT", "NOT_RESPONDING", "INVALID_REG", "DYING"];
