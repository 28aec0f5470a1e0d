import { scorerByName } from "./scorers/all.ts";
import { strategyByName } from "./select/all.ts";
import type { PlanPolicy } from "./plan.ts";

/** How clusters are chosen when nobody says it. */
export const SELECT_DEFAULT = "least-loaded";

export interface PolicyNames {
  /** Among nodes: "spread" or "binpack". */
  readonly policy: string;
  /** Among clusters. */
  readonly select?: {
    readonly strategy: string;
    readonly options: Readonly<Record<string, unknown>>;
  };
}

/** Throws AppError for names and options that make no sense. */
export function createPolicy(
  { policy, select = { strategy: SELECT_DEFAULT, options: {} } }: PolicyNames,
  random: () => number,
): PlanPolicy {
  return {
    scorer: scorerByName(policy),
    select: strategyByName(select.strategy).prepare(select.options),
    random,
  };
}
