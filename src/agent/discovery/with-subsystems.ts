import type { FactEntry, NodeFacts, Software } from "../../core/model/node/node-facts.ts";
import { limits } from "../../limits.ts";

/** Facts as JSON, with additional subsystems from the agent itself: the limits that it enforces, containers. */
export function withSubsystems(factsJson: string, said: Software): string {
  if (Object.values(said).every(({ length }) => length === 0)) return factsJson;
  return JSON.stringify(addSubsystems(JSON.parse(factsJson) as NodeFacts, said));
}

export const addSubsystems = (facts: NodeFacts, said: Software): NodeFacts => ({
  ...facts,
  software: {
    ...facts.software,
    ...Object.fromEntries(
      Object.entries(said)
        .filter(([, { length }]) => length > 0)
        .map(([name, entries]) => [name, entries.map(withShortReason)]),
    ),
  },
});

const withShortReason = (entry: FactEntry): FactEntry =>
  typeof entry["why"] === "string"
    ? { ...entry, why: entry["why"].slice(0, limits.factTextLengthMax) }
    : entry;
