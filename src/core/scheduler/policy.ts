import { nodePolicyByName } from "./nodes/node-policy.ts";
import type { PlanPolicy } from "./plan.ts";
import { strategyByName } from "../select/all.ts";
import { PreparedSelects } from "../select/prepared-selects.ts";

/** The strategy for clusters when none is configured. */
export const SELECT_DEFAULT = "least-loaded";

export interface PolicyNames {
  /** Among nodes: "spread", "binpack", "round-robin" or "random". */
  readonly policy: string;
  /** For "random": a whole number of 32 bits; undefined: a random one. */
  readonly seed?: number | undefined;
  /** Among clusters. */
  readonly select?: {
    readonly strategy: string;
    readonly options: Readonly<Record<string, unknown>>;
  };
  /** Whether an external scheduler assigns the shares of jobs with energy. */
  readonly isEnergyExternal?: boolean;
}

/** The greatest seed is 2^32 - 1. */
export const drawSeed = (random: () => number): number => Math.floor(random() * 2 ** 32);

/** Throws AppError for unknown names and invalid options. */
export function createPolicy(
  {
    policy,
    seed,
    select = { strategy: SELECT_DEFAULT, options: {} },
    isEnergyExternal = false,
  }: PolicyNames,
  random: () => number,
): PlanPolicy {
  return {
    ...(isEnergyExternal ? { isEnergyExternal } : {}),
    nodes: nodePolicyByName(policy, () => seed ?? drawSeed(random)),
    select: strategyByName(select.strategy).prepare(select.options),
    ofJobs: new PreparedSelects(),
    random,
  };
}
