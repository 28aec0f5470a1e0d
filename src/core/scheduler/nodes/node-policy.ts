import { invalid } from "../../../lib/errors.ts";
import { SeededNumbers } from "../../../lib/seeded-numbers.ts";
import type { Fleet } from "./fleet.ts";
import { Best, type Choice, Drawn, LONGEST_AGO } from "../choice.ts";
import type { Request } from "../request.ts";
import { binpack } from "../scorers/binpack.ts";
import type { Scorer } from "../scorers/scorer.ts";
import { spread } from "../scorers/spread.ts";

/** Chooses one of the nodes with free capacity for a task. */
export type NodePolicy =
  /** The best of as many as one placement may look at. */
  | { readonly kind: "score"; readonly scorer: Scorer }
  /** The node whose last assignment is longest ago. */
  | { readonly kind: "longest-ago" }
  /** A random node, all equally likely: drawn from the seed and the number of earlier assignments. */
  | { readonly kind: "draw"; readonly seed: number };

const policies: Readonly<Record<string, (seed: () => number) => NodePolicy>> = {
  spread: () => ({ kind: "score", scorer: spread }),
  binpack: () => ({ kind: "score", scorer: binpack }),
  "round-robin": () => ({ kind: "longest-ago" }),
  random: (seed) => ({ kind: "draw", seed: seed() }),
};

export const policyNames: readonly string[] = Object.keys(policies);

export function nodePolicyByName(name: string, seed: () => number): NodePolicy {
  const create = Object.hasOwn(policies, name) ? policies[name] : undefined;
  if (create !== undefined) return create(seed);
  throw invalid("policy", `${JSON.stringify(name)} is not one of ${policyNames.join(", ")}`);
}

/** For the next placement: a search that finds nothing uses up none. */
export const numbersFor = (seed: number, { turn }: Fleet): SeededNumbers =>
  new SeededNumbers(seed, turn);

/** Chooses among nodes that were not found through their pool. */
export function choiceFor(policy: NodePolicy, request: Request, fleet: Fleet): Choice {
  switch (policy.kind) {
    case "score":
      return new Best(request, policy.scorer);
    case "longest-ago":
      return new Best(request, LONGEST_AGO);
    case "draw":
      return new Drawn(request, numbersFor(policy.seed, fleet));
  }
}
