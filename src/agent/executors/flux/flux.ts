import { toFluxSteps } from "../../../core/jobspec/write/to-flux-steps.ts";
import { invalid } from "../../../lib/errors.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ClusterSource } from "../../../ports/cluster-source.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { createLowerExecutor, type LowerExecutorOptions } from "../../lower/lower-executor.ts";
import { createFluxCommand, type FluxCommandOptions } from "./flux-command.ts";
import { createFluxScheduler } from "./flux-scheduler.ts";
import { createFluxSource } from "./flux-source.ts";
import type { FluxSite } from "./submit-arguments.ts";

export interface FluxOptions extends FluxSite, FluxCommandOptions {
  /** See LowerExecutorOptions: the nodes of the cluster must see it under the same path. */
  readonly directory: string;
  /** The name of the cluster, for its graph. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds?: LowerExecutorOptions["keptBounds"];
}

/** Runs work as jobs of the Flux instance that the command `flux` connects to from here. */
export async function createFlux(
  options: FluxOptions,
): Promise<{ readonly executor: Executor; readonly source: ClusterSource }> {
  const { directory, cluster, clock, logger } = options;
  if (/[{}]/.test(directory))
    throw invalid("directory", "must not hold braces, which Flux fills in");
  const flux = createFluxCommand(options);
  const executor = await createLowerExecutor({
    directory,
    scheduler: createFluxScheduler(flux, options),
    toSteps: toFluxSteps,
    clock,
    logger,
    keptBounds: options.keptBounds,
  });
  return { executor, source: createFluxSource(flux, cluster) };
}
