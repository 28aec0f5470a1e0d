import { join } from "node:path";

import type { ClusterSource } from "../../ports/cluster-source.ts";
import type { Executor } from "../../ports/executor.ts";
import type { SiteBelow } from "../executors/busbar/busbar.ts";
import type { AgentIdentity } from "./description.ts";
import type { RunAgentOptions } from "../run-agent.ts";
import { openExecutor } from "../run-agent.ts";

/** The executor of a cluster's tasks, and the commands of its scheduler. */
export interface SchedulerOptions {
  readonly executor: "process" | "slurm" | "flux" | "busbar";
  /** The address of the Busbar below, for `busbar`. */
  readonly to?: string;
  readonly partition?: string;
  readonly account?: string;
  readonly schedulerArgs: readonly string[];
}

export interface OpenedExecutor {
  readonly executor: Executor;
  /** The scheduler's description of the cluster; undefined: the cluster is this machine. */
  readonly source: ClusterSource | undefined;
  /** Its edges with power as one node; absent: the executor has no edges. */
  readonly edges?: SiteBelow["edges"];
}

/** Each executor is loaded on demand. */
export async function openClusterExecutor(
  options: RunAgentOptions & SchedulerOptions & Pick<AgentIdentity, "fingerprint">,
): Promise<OpenedExecutor> {
  const { executor: kind, cluster, clock, logger, launcher = "native", taskEnv } = options;
  const { keptBounds } = options;
  if (kind === "process") {
    const { enforce = "available", cgroup } = options;
    const process = { clock, logger, launcher, taskEnv, enforce, cgroup, keptBounds };
    const executor = await openExecutor(options.directory, process);
    return { executor, source: undefined };
  }
  const { partition, account, schedulerArgs: extraArgs } = options;
  const directory = join(options.directory, kind);
  const terms = { partition, account, extraArgs, taskEnv, keptBounds };
  const how = { directory, cluster, clock, logger, ...terms };
  if (kind === "busbar") {
    const { createBusbar } = await import("../executors/busbar/busbar.ts");
    const { fingerprint, to = "" } = options;
    const parts = { directory, cluster, clock, logger, fingerprint, keptBounds };
    return createBusbar({ ...parts, to, below: partition, group: account });
  }
  if (kind === "slurm") {
    const { createSlurm } = await import("../executors/slurm/slurm.ts");
    return createSlurm(how);
  }
  const { createFlux } = await import("../executors/flux/flux.ts");
  return createFlux(how);
}
