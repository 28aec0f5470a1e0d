import { hash } from "node:crypto";
import { KINDS, type NexusKind, type KindName } from "./kinds.ts";

/** The names of an object and of its parents that callers chose; those of singletons are omitted. */
export type Path = readonly string[];

/** For a singleton, and for a parent without a name. */
export const DEFAULT = "default";

export const DISPLAY_NAME = "nexus/display_name";
export const IS_NAME_HASHED = "nexus/is_name_hashed";

/** Ancestors whose names are part of a path, then the kind itself. */
const named = new Map<KindName, readonly NexusKind[]>();

export function namedKinds(kind: NexusKind): readonly NexusKind[] {
  let kinds = named.get(kind.kind);
  if (kinds === undefined) {
    kinds = [...kind.ancestors.map((name) => KINDS[name]), kind].filter((one) => !one.isSingleton);
    named.set(kind.kind, kinds);
  }
  return kinds;
}

/** "default" for a singleton, otherwise the last name of the path. */
export const displayOf = (path: Path): string => path.at(-1) ?? DEFAULT;

/** The names of ancestors as in labels: root first, singletons included. */
export function ancestorsOf(
  kind: NexusKind,
  path: Path,
): readonly (readonly [NexusKind, string])[] {
  let at = 0;
  return kind.ancestors.map((name) => {
    const ancestor = KINDS[name];
    return [ancestor, ancestor.isSingleton ? DEFAULT : (path[at++] ?? DEFAULT)];
  });
}

/** The name of an object on the wire: some clients compute it themselves, so every character counts. */
export function hashName(kind: NexusKind, path: Path): string {
  const parents = ancestorsOf(kind, path).map(([{ crd }, name]) => `${crd}:${name}`);
  // There is no separator between the last parent and the kind.
  return hash("sha1", `${parents.join("/")}${kind.crd}:${displayOf(path)}`);
}

export const isHashed = (name: string): boolean => /^[0-9a-f]{40}$/.test(name);

type Labels = Readonly<Record<string, string>>;

/** The labels of every object of this path. */
export function treeLabels(kind: NexusKind, path: Path): Labels {
  const labels: Record<string, string> = {
    [DISPLAY_NAME]: displayOf(path),
    [IS_NAME_HASHED]: "true",
  };
  for (const [{ crd }, name] of ancestorsOf(kind, path)) labels[crd] = name;
  return labels;
}

/** Whether the tree sets this label, so that no client can. */
export const isTreeLabel = (kind: NexusKind, label: string): boolean =>
  label === DISPLAY_NAME ||
  label === IS_NAME_HASHED ||
  kind.ancestors.some((name) => KINDS[name].crd === label);

/** The path of an object, from its labels; a parent without a label is "default". */
export function pathOf(kind: NexusKind, display: string, labels: Labels): Path {
  return namedKinds(kind).map((one) => (one === kind ? display : (labels[one.crd] ?? DEFAULT)));
}
