import { toSteps } from "../../../core/jobspec/to-steps.ts";
import type { ClusterSource } from "../../../ports/cluster-source.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { createLowerExecutor } from "../../lower/lower-executor.ts";
import { baseEnvOf } from "../../runs/surroundings.ts";
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
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A cluster that Slurm runs: its executor, and what it has. */
export async function createSlurm(
  options: CreateSlurmOptions,
): Promise<{ readonly executor: Executor; readonly source: ClusterSource }> {
  const { directory, cluster, clock, logger, partition, account, extraArgs } = options;
  const env = slurmEnv(options.env ?? process.env);
  const scheduler = createSlurmScheduler({ partition, account, extraArgs, env, clock });
  const executor = await createLowerExecutor({ directory, scheduler, toSteps, clock, logger });
  const source = createSlurmSource({ run: createRunSlurm(env), cluster, partition });
  return { executor, source };
}

/**
 * An agent may itself run in a job: what Slurm told that one must not be taken for what is meant for
 * the jobs it submits.
 */
export function slurmEnv(
  agentEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const isTold = (name: string): boolean =>
    name.startsWith("SLURM_") && !["SLURM_CONF", "SLURM_CLUSTERS"].includes(name);
  return Object.fromEntries(Object.entries(baseEnvOf(agentEnv)).filter(([name]) => !isTold(name)));
}
