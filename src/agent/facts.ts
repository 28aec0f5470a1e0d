import { arch, availableParallelism, hostname, platform, totalmem } from "node:os";

import { readBootId } from "./proc.ts";

export interface MachineFacts {
  /** In base units: thousandths of a cpu, bytes. */
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly bootId: string;
  readonly hostname: string;
}

/** What this machine has; what the command line says is laid over it by `withOverrides`. */
export function readMachineFacts(): MachineFacts {
  return {
    capacity: { cpu: availableParallelism() * 1_000, memory: totalmem() },
    labels: { os: platform(), arch: arch(), hostname: hostname() },
    bootId: readBootId(),
    hostname: hostname(),
  };
}

/** Own words win over what was found; a resource set to 0 is one the agent does not offer. */
export function withOverrides(
  facts: MachineFacts,
  over: Partial<Pick<MachineFacts, "capacity" | "labels">>,
): MachineFacts {
  return {
    ...facts,
    capacity: { ...facts.capacity, ...over.capacity },
    labels: { ...facts.labels, ...over.labels },
  };
}
