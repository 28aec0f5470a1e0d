import type { Requirement } from "../../graph/request/request.ts";
import type {
  Attributes,
  Dialect,
  NamedResource,
  NameChoice,
  Processes,
  TaskWork,
} from "../model.ts";
import type { Place } from "./reader.ts";

/**
 * Every dialect is read into a draft: its structure is valid, but names are as written. `resolve`
 * looks names up, puts groups where they are placed and makes a Jobspec of it.
 */
export interface Draft {
  readonly dialect: Dialect;
  readonly place: Place;
  readonly name: string | undefined;
  readonly attributes: Attributes;
  readonly resources: ReadonlyMap<string, NamedResource>;
  readonly requires: ReadonlyMap<string, readonly Requirement[]>;
  /** The set that applies to the whole document. */
  readonly requiredByAll: string | undefined;
  readonly tasks: readonly (DraftTask | GroupPlacing)[];
  readonly groups: readonly DraftGroup[];
}

/** Names, with their place in the document. */
export interface Reference {
  readonly place: Place;
  readonly choice: NameChoice;
}

export interface NameAt {
  readonly place: Place;
  readonly name: string;
}

interface DraftItem {
  readonly place: Place;
  readonly name: NameAt | undefined;
  readonly asks: Reference | undefined;
  readonly requires: Reference | undefined;
  readonly dependsOn: readonly NameAt[];
  readonly attributes: Attributes;
}

export interface DraftTask extends DraftItem {
  readonly kind: "task";
  readonly work: TaskWork;
  readonly replicas: number;
  readonly processes: Processes;
  readonly isLocal: boolean;
}

/** "group: train" in a list of tasks: the group runs here. */
export interface GroupPlacing {
  readonly kind: "placing";
  readonly place: Place;
  readonly group: NameAt;
  readonly dependsOn: readonly NameAt[];
}

export interface DraftGroup extends DraftItem {
  readonly kind: "group";
  readonly tasks: readonly (DraftTask | GroupPlacing)[];
  readonly groups: readonly DraftGroup[];
}

/** The first of base, base-2, base-3, … that is not taken. */
export function freeName(base: string, isTaken: (name: string) => boolean): string {
  let name = base;
  for (let number = 2; isTaken(name); number += 1) name = `${base}-${number}`;
  return name;
}
