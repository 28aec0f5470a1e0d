import { invariant } from "../../../lib/invariant.ts";
import { specFields } from "./fields.ts";
import { ALL_KINDS, KINDS, type KindName, type NexusKind } from "./kinds.ts";

/** The children of a kind, by their field in the data model. */
export interface Child {
  /** As Go writes it: JobGroups, Scheduler, SitesDC. */
  readonly field: string;
  readonly kind: NexusKind;
}

const GVK = /Gvk$/;

export const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The model describes children only by a field of the spec for each kind. */
function childrenOf({ kind, ...rest }: NexusKind): readonly Child[] {
  const below = ALL_KINDS.filter(({ ancestors }) => ancestors.at(-1) === kind);
  return Object.entries(specFields({ kind, ...rest }))
    .filter(([name]) => GVK.test(name))
    .map(([name, description]) => {
      const field = capital(name.replace(GVK, ""));
      const isMany = description.type === "object" && description.properties === undefined;
      const fitting = below.filter(({ isSingleton }) => isSingleton !== isMany);
      const child = fitting.length === 1 ? fitting[0] : fitting.find((one) => one.kind === field);
      invariant(child !== undefined, `${kind}.${name} is a field for no kind`);
      return { field, kind: child };
    });
}

export const CHILDREN = Object.fromEntries(
  ALL_KINDS.map((kind) => [kind.kind, childrenOf(kind)]),
) as Readonly<Record<KindName, readonly Child[]>>;

export const ROOT: NexusKind = KINDS.PowerScheduler;

/** The Go package of a kind: the first word of its group. */
export const packageOf = ({ group }: NexusKind): string => group.split(".", 1)[0] ?? "";

/** `jobscheduler.Job`: in routes, parameters and documents of the gateway. */
export const nodeOf = (kind: NexusKind): string => `${packageOf(kind)}.${kind.kind}`;
