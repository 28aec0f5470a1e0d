import { describeChain } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Clock } from "../../../../ports/clock.ts";
import type { RunEnd } from "../../../../ports/executor.ts";
import type { Logger } from "../../../../ports/logger.ts";
import type { CgroupFiles } from "./cgroup-files.ts";
import { RunGroup } from "./cgroups.ts";
import type { Enforcement, GroupWrite } from "./enforcement.ts";
import { groupWritesOf } from "./enforcement.ts";
import type { GroupTerms } from "../run.ts";
import type { Launch } from "../launchers/starter.ts";

export interface RunGroupsOptions {
  readonly enforcement: Enforcement;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly files?: CgroupFiles | undefined;
}

export interface GroupPlan {
  readonly terms: GroupTerms;
  readonly writes: readonly GroupWrite[];
}

/** The control groups of an agent's runs: made before a run begins, emptied and removed when it has ended. */
export class RunGroups {
  readonly #options: RunGroupsOptions;
  readonly #leaving = new Map<string, number>(); // path => number of kills
  #cancel: (() => void) | undefined;

  constructor(options: RunGroupsOptions) {
    this.#options = options;
  }

  /** The group of a new run; undefined: there are no groups here. */
  planOf(key: string, needs: Readonly<Record<string, number>>): GroupPlan | undefined {
    const { enforcement } = this.#options;
    if (enforcement.cgroups === undefined) return undefined;
    const path = enforcement.cgroups.pathOf(key);
    const { memory: memoryBytes = 0 } = needs;
    const isLimited = enforcement.memory.kind === "limit" && memoryBytes > 0;
    const terms = isLimited ? { path, memoryBytes } : { path };
    return { terms, writes: groupWritesOf(enforcement, needs) };
  }

  /** Makes the group of a launch, if it has one. Returns the error if that fails. */
  create({ group }: Launch): string | undefined {
    if (group === undefined) return undefined;
    this.#leaving.delete(group.path);
    try {
      this.#options.enforcement.cgroups?.create(group.path, group.writes);
      return undefined;
    } catch (error) {
      return `its control group could not be made: ${describeChain(error)}`;
    }
  }

  /** A KILL that the kernel sent at the run's memory limit is an out-of-memory end. */
  judge(end: RunEnd, group: GroupTerms | undefined): RunEnd {
    if (group?.memoryBytes === undefined) return end;
    if (end.kind !== "signalled" || end.signal !== "SIGKILL") return end;
    if (this.#at(group.path).outOfMemoryKills === 0) return end;
    return { kind: "out-of-memory", limitBytes: group.memoryBytes };
  }

  pidsOf({ path }: GroupTerms): readonly number[] {
    const group = this.#at(path);
    return group.isPopulated ? group.pids : [];
  }

  kill({ path }: GroupTerms): void {
    this.#at(path).kill();
  }

  /** The run has ended: kills all remaining processes, and removes the group. */
  ended(path: string): void {
    if (this.#at(path).remove()) return;
    this.#leaving.set(path, 0);
    this.#empty();
  }

  /** Groups of runs that ended while no agent was running. */
  recover(activeKeys: ReadonlySet<string>): void {
    const { cgroups } = this.#options.enforcement;
    for (const key of cgroups?.keys() ?? []) {
      if (cgroups !== undefined && !activeKeys.has(key)) this.ended(cgroups.pathOf(key));
    }
  }

  /** The group of an unknown run. */
  find(key: string): GroupTerms | undefined {
    const { cgroups } = this.#options.enforcement;
    return cgroups?.keys().includes(key) === true ? { path: cgroups.pathOf(key) } : undefined;
  }

  close(): void {
    this.#cancel?.();
  }

  #at(path: string): RunGroup {
    return new RunGroup(path, this.#options.files);
  }

  #empty(): void {
    for (const [path, times] of this.#leaving) {
      const group = this.#at(path);
      if (group.remove()) this.#leaving.delete(path);
      else if (times < limits.survivorKillsMax) {
        group.kill();
        this.#leaving.set(path, times + 1);
      } else {
        this.#leaving.delete(path);
        const { pids } = group;
        this.#options.logger.warn(
          { group: path, pids },
          "processes of an ended run cannot be killed",
        );
      }
    }
    if (this.#leaving.size === 0) return;
    this.#cancel ??= this.#options.clock.after(limits.processPollMs, () => {
      this.#cancel = undefined;
      this.#empty();
    });
  }
}
