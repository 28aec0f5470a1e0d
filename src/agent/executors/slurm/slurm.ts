import { toSteps } from "../../../core/jobspec/write/to-steps.ts";
import type { ClusterSource } from "../../../ports/cluster-source.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { createLowerExecutor, type LowerExecutorOptions } from "../../lower/lower-executor.ts";
import type { AgentEnv, TaskEnvOptions } from "../../runs/task-env.ts";
import { LOWER_PASSES, taskEnvOf } from "../../runs/task-env.ts";
import type { SlurmChoices } from "./sbatch.ts";
import { createRunSlurm, createSlurmScheduler } from "./slurm-scheduler.ts";
import { createSlurmSource } from "./slurm-source.ts";

export interface CreateSlurmOptions extends SlurmChoices {
  /** Holds the runs and their output; the nodes of the cluster must see it under the same path. */
  readonly directory: string;
  /** The name of the cluster in its graph. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The agent's own environment. */
  readonly env?: AgentEnv;
  readonly keptBounds?: LowerExecutorOptions["keptBounds"];
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
}

/** A Slurm cluster: its executor, and the source of its nodes and state. */
export async function createSlurm(
  options: CreateSlurmOptions,
): Promise<{ readonly executor: Executor; readonly source: ClusterSource }> {
  const { directory, cluster, clock, logger, partition, account, extraArgs } = options;
  const env = slurmEnv(options.env ?? process.env, options.taskEnv);
  const scheduler = createSlurmScheduler({ partition, account, extraArgs, env, clock });
  const { keptBounds } = options;
  const how = { directory, scheduler, toSteps, clock, logger, keptBounds };
  const executor = await createLowerExecutor(how);
  const source = createSlurmSource({ run: createRunSlurm(env), cluster, partition });
  return { executor, source };
}

const SLURM_PASSES = new Set(["SLURM_CONF", "SLURM_CLUSTERS", ...LOWER_PASSES]);

/**
 * The environment of Slurm's commands, with which its jobs start. An agent may itself run in a job of
 * Slurm: that job's variables (SLURM_JOB_ID and so on) do not pass to the jobs that the agent submits.
 */
export const slurmEnv = (agentEnv: AgentEnv, added?: TaskEnvOptions["added"]) =>
  taskEnvOf({ agentEnv, added, passes: (name) => SLURM_PASSES.has(name) });
