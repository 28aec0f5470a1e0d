import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request/request.ts";
import { freeName } from "./read/draft.ts";
import type { NameChoice } from "./model.ts";

type Sets = Map<string, readonly Requirement[]>;

/**
 * The subject of a requirement: an inner requirement replaces an outer one with the same subject.
 */
const keyOf = ({ subsystem, conditions }: Requirement): string =>
  JSON.stringify([subsystem, ...conditions.map(({ field }) => field).sort()]);

/** Requirements in order of preference: one of the lists, with all of its requirements. */
export type RequirementChoice = readonly (readonly Requirement[])[];

export const requirementsOf = (
  sets: ReadonlyMap<string, readonly Requirement[]>,
  names: NameChoice,
): RequirementChoice => names.map((each) => each.flatMap((name) => sets.get(name) ?? []));

/**
 * The requirements of a level with those of the outer level, except those that the level overrides.
 */
export function inheritRequirements(
  outer: RequirementChoice | undefined,
  own: RequirementChoice | undefined,
): RequirementChoice | undefined {
  if (outer === undefined || own === undefined) return own ?? outer;
  return own.flatMap((wanted) => {
    const said = new Set(wanted.map(keyOf));
    return outer.map((around) => [...around.filter((each) => !said.has(keyOf(each))), ...wanted]);
  });
}

/**
 * The same by names, for requirements of the whole document: nextgen can state them only on tasks
 * and groups. The part of the set that is not overridden gets a name of its own.
 */
export function addToOwn(sets: Sets, all: string, own: NameChoice | undefined): NameChoice {
  if (own === undefined) return [[all]];
  return own.map((names) => {
    const said = new Set(names.flatMap((name) => (sets.get(name) ?? []).map(keyOf)));
    const whole = sets.get(all) ?? [];
    const left = whole.filter((each) => !said.has(keyOf(each)));
    if (left.length === 0) return names;
    if (left.length === whole.length) return [all, ...names];
    const rest = freeName(`${all}-rest`, (each) => sets.has(each));
    sets.set(rest, left);
    return [rest, ...names];
  });
}

/**
 * Every way to satisfy both: resources in order of preference, for each the requirements in order
 * of preference.
 */
export function requireOf(
  choice: ResourceChoice,
  requires: RequirementChoice | undefined,
): ResourceChoice {
  if (requires === undefined) return choice;
  return choice.flatMap((trees) =>
    requires.map((wanted) => trees.map((tree) => requireOfTree(tree, wanted))),
  );
}

/**
 * Puts them on its nodes, where subsystems are linked; on its topmost vertices if it has no node.
 */
function requireOfTree(tree: ResourceRequest, wanted: readonly Requirement[]): ResourceRequest {
  const isHere = hasNode(tree) ? tree.type === "node" : tree.type !== "slot";
  if (isHere || tree.with.length === 0) {
    return { ...tree, requires: [...tree.requires, ...wanted] };
  }
  // Branches beside the one with the nodes get no requirement.
  const isPath = (each: ResourceRequest) => !hasNode(tree) || hasNode(each);
  return {
    ...tree,
    with: tree.with.map((each) => (isPath(each) ? requireOfTree(each, wanted) : each)),
  };
}

const hasNode = (tree: ResourceRequest): boolean => tree.type === "node" || tree.with.some(hasNode);
