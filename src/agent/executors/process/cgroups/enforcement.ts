import type { FactEntry } from "../../../../core/model/node/node-facts.ts";
import { AppError } from "../../../../lib/errors.ts";
import { cpuWeightOf } from "../../../runs/cpu-weight.ts";
import type { Controller, RunCgroups } from "./cgroups.ts";
import type { Launch } from "../launchers/starter.ts";

/** The limits that the operator wants enforced: all that this machine supports (memory, cpu by weight), or exactly these. */
export type Enforce = "available" | readonly Enforceable[];

/** By control groups; or memory per process, which needs none. */
type Enforceable = Controller | "process-memory";

/** The limits for every run of this agent. */
export interface Enforcement {
  /** undefined: runs have no control groups. */
  readonly cgroups: RunCgroups | undefined;
  /** "limit": memory.max is the requested memory of a run. */
  readonly memory: { readonly kind: "limit" } | { readonly kind: "none"; readonly why: string };
  /** "weight": cpu.weight in proportion to the requested CPUs; "quota": cpu.max. */
  readonly cpu:
    | { readonly kind: "weight" | "quota" }
    | { readonly kind: "none"; readonly why: string };
  /** RLIMIT_DATA of each process is the requested memory of its run. */
  readonly isProcessMemoryLimited: boolean;
}

const NOT_WANTED = "--enforce does not name it";

export const NOTHING_ENFORCED: Enforcement = {
  cgroups: undefined,
  memory: { kind: "none", why: NOT_WANTED },
  cpu: { kind: "none", why: NOT_WANTED },
  isProcessMemoryLimited: false,
};

/**
 * `opened` is a text where control groups are unavailable: the reason. Throws `invalid_argument` when the operator named a limit that
 * cannot be enforced.
 */
export function decideEnforcement(wanted: Enforce, opened: RunCgroups | string): Enforcement {
  const cgroups = typeof opened === "string" ? undefined : opened;
  const whyNot = (controller: Controller): string | undefined =>
    typeof opened === "string" ? opened : opened.whyNot(controller);
  if (wanted !== "available") {
    for (const controller of wanted) {
      if (controller === "process-memory") continue;
      const why = whyNot(controller);
      if (why !== undefined) throw cannot(controller, why);
    }
  }
  const isNamed = (controller: Enforceable): boolean =>
    wanted !== "available" && wanted.includes(controller);
  const memoryWhy = wanted === "available" || isNamed("memory") ? whyNot("memory") : NOT_WANTED;
  const cpuWhy = whyNot("cpu");
  return {
    cgroups,
    memory: memoryWhy === undefined ? { kind: "limit" } : { kind: "none", why: memoryWhy },
    cpu:
      cpuWhy === undefined
        ? { kind: isNamed("cpu") ? "quota" : "weight" }
        : { kind: "none", why: cpuWhy },
    isProcessMemoryLimited: isNamed("process-memory"),
  };
}

const cannot = (controller: Controller, why: string): AppError =>
  new AppError(
    "invalid_argument",
    `--enforce: ${controller} cannot be enforced here: ${why}; run the agent as a systemd service ` +
      `with Delegate=yes (docs/install.md), or leave ${controller} out of --enforce` +
      (controller === "memory" ? "; process-memory needs no control groups" : ""),
  );

/** One file of a control group, and the text for it. */
export type GroupWrite = readonly [file: string, text: string];

const CPU_PERIOD_US = 100_000;
const CPU_QUOTA_US_MIN = 1_000; // the kernel's minimum

/** The limits of one run, from its request in base units: thousandths of a cpu, bytes. */
export function groupWritesOf(
  { memory, cpu }: Pick<Enforcement, "memory" | "cpu">,
  needs: Readonly<Record<string, number>>,
): readonly GroupWrite[] {
  const writes: GroupWrite[] = [];
  const { memory: bytes = 0, cpu: millis = 0 } = needs;
  if (memory.kind === "limit" && bytes > 0) {
    // The kernel kills the group as a whole: a task that lost one of its processes has failed.
    writes.push(["memory.max", String(bytes)], ["memory.oom.group", "1"]);
    writes.push(["memory.swap.max", "0"]);
  }
  if (cpu.kind === "weight" && millis > 0) {
    writes.push(["cpu.weight", String(cpuWeightOf(millis))]);
  }
  if (cpu.kind === "quota" && millis > 0) {
    const quotaUs = Math.max(CPU_QUOTA_US_MIN, Math.round((millis * CPU_PERIOD_US) / 1_000));
    writes.push(["cpu.max", `${quotaUs} ${CPU_PERIOD_US}`]);
  }
  return writes;
}

const RLIMIT_DATA = 2;

/** Limits of each process of a run, for setrlimit(2). */
export function processLimitsOf(
  { isProcessMemoryLimited }: Enforcement,
  { memory: bytes = 0 }: Readonly<Record<string, number>>,
): Launch["limits"] {
  if (!isProcessMemoryLimited || bytes === 0) return undefined;
  return [{ resource: RLIMIT_DATA, soft: bytes, hard: bytes }];
}

/** For the facts of the machine: subsystem "limits". */
export function describeEnforcement(enforcement: Enforcement): readonly FactEntry[] {
  const { memory, cpu, cgroups, isProcessMemoryLimited } = enforcement;
  return [
    memory.kind === "limit"
      ? { name: "memory", enforced: true, by: "memory.max" }
      : { name: "memory", enforced: false, why: memory.why },
    cpu.kind === "none"
      ? { name: "cpu", enforced: false, why: cpu.why }
      : { name: "cpu", enforced: true, by: cpu.kind === "quota" ? "cpu.max" : "cpu.weight" },
    ...(isProcessMemoryLimited
      ? [{ name: "process-memory", enforced: true, by: "RLIMIT_DATA" }]
      : []),
    ...(cgroups === undefined ? [] : [{ name: "kill", enforced: true, by: "cgroup.kill" }]),
  ];
}
