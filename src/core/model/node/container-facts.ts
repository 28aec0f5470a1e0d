import type { FactEntry, NodeFacts } from "./node-facts.ts";

/** The subsystem of a machine's facts that says whether its agent starts containers. */
export const CONTAINERS = "containers";

const UNKNOWN = "its agent does not say that it can";

/** What an agent says that can start containers: with which programs, and what it enforces. */
export const canStart = (details: FactEntry): FactEntry => ({
  name: "runc",
  ...details,
  starts: true,
});

/** What an agent says that cannot. */
export const cannotStart = (why: string): FactEntry => ({ name: "runc", starts: false, why });

/** What an agent says that has begun to find out. */
export const lookingForContainers = (): FactEntry => ({ ...cannotStart(LOOKING), looking: true });

const LOOKING = "its agent is finding out whether it can";

/** Whether containers can be started on a machine; `never`: the machine as it is cannot. */
export type ContainerVerdict =
  | { readonly kind: "can" }
  | { readonly kind: "not-now" | "never"; readonly why: string };

const CAN: ContainerVerdict = { kind: "can" };

export function containerVerdict({ software }: Pick<NodeFacts, "software">): ContainerVerdict {
  const entries = software[CONTAINERS] ?? [];
  if (entries.some(({ starts }) => starts === true)) return CAN;
  if (entries.some(({ looking }) => looking === true)) return { kind: "not-now", why: LOOKING };
  const why = entries.find(({ starts }) => starts === false)?.["why"];
  return { kind: "never", why: typeof why === "string" && why !== "" ? why : UNKNOWN };
}
