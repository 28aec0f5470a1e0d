import type { FactEntry, NodeFacts } from "./node-facts.ts";

/** The subsystem of a machine's facts that says whether its agent starts containers. */
export const CONTAINERS = "containers";

const UNKNOWN = "its agent does not say that it can";

/** What an agent says that can start containers: with which programs, and what it enforces. */
export const canStart = (details: FactEntry): FactEntry => ({ type: "oci", ...details });

/** What an agent says that cannot. */
export const cannotStart = (why: string): FactEntry => ({ type: "none", why });

/** Why containers cannot be started on a machine; undefined: they can. */
export function whyNoContainers({ software }: Pick<NodeFacts, "software">): string | undefined {
  const entries = software[CONTAINERS] ?? [];
  if (entries.some(({ type }) => type === "oci")) return undefined;
  const why = entries.find(({ type }) => type === "none")?.["why"];
  return typeof why === "string" && why !== "" ? why : UNKNOWN;
}
