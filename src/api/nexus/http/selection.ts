import { limits } from "../../../limits.ts";
import type { NexusObject } from "../model/object.ts";
import type { Selector } from "../model/selectors.ts";
import type { Aside } from "../tree/gone.ts";
import type { Tree } from "../tree/tree.ts";

/** A change of an object, as a watch receives it. */
export type Told = Pick<Aside, "type" | "object">;

/** The event of a change for a watch with a selector; undefined: none. */
export type WatchSelection = (told: Told) => Told | undefined;

/** An object that begins to match is added for the watch, and one that no longer matches is deleted. */
function moved({ type, object }: Told, wasIn: boolean, isIn: boolean): Told | undefined {
  if (type === "DELETED") return wasIn ? { type, object } : undefined;
  if (!isIn) return wasIn ? { type: "DELETED", object } : undefined;
  return { type: wasIn ? type : "ADDED", object };
}

/** By labels, whose earlier values are known: nothing is stored for a watch. */
export const selectByLabels =
  ({ asides }: Tree, selector: Selector): WatchSelection =>
  (told) => {
    const { type, object } = told;
    const isIn = selector.fits(object);
    if (type !== "MODIFIED") return isIn ? told : undefined;
    const { name, resourceVersion } = object.metadata;
    const labels = asides.labelsBefore(Number(resourceVersion), name);
    if (labels === undefined) return isIn ? told : undefined;
    const before = { ...object, metadata: { ...object.metadata, labels } };
    const wasIn = selector.fits(before);
    return moved(isIn ? told : { type, object: before }, wasIn, isIn);
  };

/** The selected objects when a watch begins, and the revision up to which earlier states are replayed. */
export interface Present {
  readonly objects: readonly NexusObject[];
  readonly revision: number;
}

interface Member {
  readonly revision: number;
  readonly wasIn: boolean;
  readonly isIn: boolean;
}

/**
 * Selects by the status of objects, which changes all the time: each watch keeps the set of objects that it has. Bounded:
 * beyond the bound a watch receives an object that comes to match as changed.
 */
export function selectByStatus(
  selector: Selector,
  { objects, revision: since }: Present,
): WatchSelection {
  const members = new Map<string, Member>();
  for (const { metadata } of objects) {
    members.set(metadata.name, { revision: 0, wasIn: true, isIn: true });
  }
  return (told) => {
    const { name } = told.object.metadata;
    const revision = Number(told.object.metadata.resourceVersion);
    const known = members.get(name);
    const isIn = selector.fits(told.object);
    // The same event may be requested again.
    const wasIn =
      known?.revision === revision
        ? known.wasIn
        : // An object that the watch has from a list may have left before the watch began.
          (known?.isIn ?? (told.type === "MODIFIED" && !isIn && revision <= since));
    members.delete(name);
    if (isIn && told.type !== "DELETED" && members.size < limits.nexusMembersMax) {
      members.set(name, { revision, wasIn, isIn });
    } else if (wasIn) members.set(name, { revision, wasIn, isIn: false });
    return moved(told, wasIn, isIn);
  };
}
