import { limits } from "../../../limits.ts";
import type { NexusObject } from "../model/object.ts";
import type { Selector } from "../model/selectors.ts";
import type { Aside } from "../tree/gone.ts";
import type { Tree } from "../tree/tree.ts";

/** A change of an object, as a watch receives it. */
export type Told = Pick<Aside, "type" | "object">;

/** What a change is to a watch that selects objects; undefined: nothing. */
export type WatchSelection = (told: Told) => Told | undefined;

/** An object that comes to fit is new to the watch, and one that no longer fits is gone. */
function moved({ type, object }: Told, wasIn: boolean, isIn: boolean): Told | undefined {
  if (type === "DELETED") return wasIn ? { type, object } : undefined;
  if (!isIn) return wasIn ? { type: "DELETED", object } : undefined;
  return { type: wasIn ? type : "ADDED", object };
}

/** By labels, which are known as they were: nothing is kept for a watch. */
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

/** What is selected when a watch begins, and the revision up to which it is told what was before. */
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
    // The same event may be asked for again.
    const wasIn =
      known?.revision === revision
        ? known.wasIn
        : // What the watch has from a list may have left before it began.
          (known?.isIn ?? (told.type === "MODIFIED" && !isIn && revision <= since));
    members.delete(name);
    if (isIn && told.type !== "DELETED" && members.size < limits.nexusMembersMax) {
      members.set(name, { revision, wasIn, isIn });
    } else if (wasIn) members.set(name, { revision, wasIn, isIn: false });
    return moved(told, wasIn, isIn);
  };
}
