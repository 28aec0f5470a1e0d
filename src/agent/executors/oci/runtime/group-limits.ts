import { readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";

import { cpuWeightOf } from "../../../runs/cpu-weight.ts";
import type { ContainerMeans, ContainerPlan } from "../container-plan.ts";

/** The limits of one container that a machine may support. */
export type GroupLimits = Pick<ContainerMeans, "memory" | "swap" | "cpu">;

const NO_LIMITS: GroupLimits = { memory: false, swap: false, cpu: "none" };

/** Best first, the last without limits: a machine may have a controller for one and not for the other, or memory without swap. */
export function limitsToTry({
  memory,
  cpu,
}: Pick<GroupLimits, "memory" | "cpu">): readonly GroupLimits[] {
  const swaps = memory ? [true, false] : [];
  const both = swaps.map((swap) => ({ memory, swap, cpu }));
  if (cpu === "none") return [...both, NO_LIMITS];
  const memoryAlone = swaps.map((swap) => ({ memory, swap, cpu: "none" }) as const);
  return [...both, ...memoryAlone, { ...NO_LIMITS, cpu }, NO_LIMITS];
}

const ROOT = "/sys/fs/cgroup";
const CGROUP2_MAGIC = 0x63677270;

/** As runc decides it. A version 2 beside version 1 (`/sys/fs/cgroup/unified`) has no controllers. */
export function hasUnifiedGroups(): boolean {
  try {
    return statfsSync(ROOT).type === CGROUP2_MAGIC;
  } catch {
    return false;
  }
}

/** Why a container has fewer limits than wanted, where `failure` is what runc said of them. */
export function describeNotLimited(failure: string, controllers = rootControllers()): string {
  const missing = ["memory", "cpu"].filter((name) => controllers?.includes(name) === false);
  if (missing.length === 0) return failure;
  return `the control groups of version 2 of this machine have no ${missing.join(" and no ")} controller`;
}

/** undefined: this machine has version 1. */
function rootControllers(): readonly string[] | undefined {
  if (!hasUnifiedGroups()) return undefined;
  try {
    return readFileSync(join(ROOT, "cgroup.controllers"), "utf8").trim().split(" ");
  } catch {
    return undefined;
  }
}

const CPU_PERIOD_US = 100_000;
const CPU_QUOTA_US_MIN = 1_000; // the kernel's minimum

/** The resources of a container, by the runtime specification of OCI. */
export function resourcesOf({ needs, means }: Pick<ContainerPlan, "needs" | "means">): unknown {
  const { memory: bytes = 0, cpu: millis = 0 } = needs;
  const isMemoryLimited = means.memory && bytes > 0;
  const isCpuLimited = means.cpu !== "none" && millis > 0;
  const quota = Math.max(CPU_QUOTA_US_MIN, Math.round((millis * CPU_PERIOD_US) / 1_000));
  const cpu = {
    ...(means.isUnified ? {} : { shares: Math.max(2, Math.round(millis * 1.024)) }), // one cpu: 1024, the kernel's default
    ...(means.cpu === "quota" && { quota, period: CPU_PERIOD_US }),
  };
  const unified = {
    // runc would make 39 of the 1024 shares of one cpu, beside 100 of a task without a container.
    ...(isCpuLimited && { "cpu.weight": String(cpuWeightOf(millis)) }),
    // A container that lost one of its processes has failed: it may go on without it, and end with another reason.
    ...(isMemoryLimited && { "memory.oom.group": "1" }),
  };
  return {
    devices: [{ allow: false, access: "rwm" }], // runc adds the devices that every program expects
    ...(isMemoryLimited && { memory: { limit: bytes, ...(means.swap && { swap: bytes }) } }),
    ...(isCpuLimited && { cpu }),
    ...(means.isUnified && { unified }),
  };
}
