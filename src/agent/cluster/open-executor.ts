import { AppError } from "../../lib/errors.ts";
import type { ClusterSource } from "../../ports/cluster-source.ts";
import type { Executor } from "../../ports/executor.ts";
import type { RunAgentOptions } from "../run-agent.ts";
import { openExecutor } from "../run-agent.ts";

/** What runs the tasks of a cluster, and how its scheduler is spoken to. */
export interface SchedulerOptions {
  readonly executor: "process" | "slurm" | "flux";
  readonly partition?: string;
  readonly account?: string;
  readonly schedulerArgs: readonly string[];
}

export interface OpenedExecutor {
  readonly executor: Executor;
  /** What its scheduler says of the cluster; undefined: the cluster is this machine. */
  readonly source: ClusterSource | undefined;
}

/** Each is loaded when it is wanted. */
export async function openClusterExecutor(
  options: RunAgentOptions & SchedulerOptions,
): Promise<OpenedExecutor> {
  const { directory, clock, logger, launcher = "pool" } = options;
  if (options.executor === "process") {
    const executor = await openExecutor(directory, { clock, logger, launcher });
    return { executor, source: undefined };
  }
  throw new AppError("unavailable", `there is no executor for ${options.executor} yet`);
}
