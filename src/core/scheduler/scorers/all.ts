import { invalid } from "../../../lib/errors.ts";
import { binpack } from "./binpack.ts";
import type { Scorer } from "./scorer.ts";
import { spread } from "./spread.ts";

const scorers: readonly Scorer[] = [spread, binpack];

export const policyNames: readonly string[] = scorers.map(({ name }) => name);

export function scorerByName(name: string): Scorer {
  const found = scorers.find((scorer) => scorer.name === name);
  if (found === undefined) {
    throw invalid("policy", `${JSON.stringify(name)} is not one of ${policyNames.join(", ")}`);
  }
  return found;
}
