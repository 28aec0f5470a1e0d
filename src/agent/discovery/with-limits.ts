import type { FactEntry, NodeFacts } from "../../core/model/node/node-facts.ts";
import { limits } from "../../limits.ts";

/** Facts as JSON, with the limits that an agent enforces as one more subsystem. */
export function withLimits(factsJson: string, enforced: readonly FactEntry[] = []): string {
  if (enforced.length === 0) return factsJson;
  return JSON.stringify(addLimits(JSON.parse(factsJson) as NodeFacts, enforced));
}

export const addLimits = (facts: NodeFacts, enforced: readonly FactEntry[]): NodeFacts => ({
  ...facts,
  software: { ...facts.software, limits: enforced.map(withShortReason) },
});

const withShortReason = (entry: FactEntry): FactEntry =>
  typeof entry["why"] === "string"
    ? { ...entry, why: entry["why"].slice(0, limits.factTextLengthMax) }
    : entry;
