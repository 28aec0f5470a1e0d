import type { FactEntry, NodeFacts } from "./node-facts.ts";

/** The subsystem of a machine's facts that says whether its agent starts containers. */
export const CONTAINERS = "containers";

const UNKNOWN = "its agent does not report container support";

/** The entry of an agent that can start containers: its programs, and what it enforces. */
export const canStart = (details: FactEntry): FactEntry => ({
  name: "runc",
  ...details,
  starts: true,
});

/** The entry of an agent that cannot. */
export const cannotStart = (why: string): FactEntry => ({ name: "runc", starts: false, why });

/** The entry of an agent that is still checking. */
export const lookingForContainers = (): FactEntry => ({ ...cannotStart(LOOKING), looking: true });

const LOOKING = "its agent is still testing it";

/** Whether containers can be started on a machine; `never`: not while the machine stays as it is. */
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
