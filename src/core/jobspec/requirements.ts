import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request/request.ts";
import { freeName } from "./read/draft.ts";
import type { NameChoice } from "./model.ts";

type Sets = Map<string, readonly Requirement[]>;

/** What a requirement is about: an inner one replaces an outer one about the same. */
const keyOf = ({ subsystem, conditions }: Requirement): string =>
  JSON.stringify([subsystem, ...conditions.map(({ field }) => field).sort()]);

/** Requirements by preference: one of the lists, and of it all. */
export type RequirementChoice = readonly (readonly Requirement[])[];

export const requirementsOf = (
  sets: ReadonlyMap<string, readonly Requirement[]>,
  names: NameChoice,
): RequirementChoice => names.map((each) => each.flatMap((name) => sets.get(name) ?? []));

/** What a level requires with what is around it, except what the level says otherwise. */
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
 * The same by names, for what holds for the whole document: nextgen has no place for it but its
 * tasks and groups. What is left of the set gets a name of its own.
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

/** Every way to meet both: resources by preference, for each the requirements by preference. */
export function requireOf(
  choice: ResourceChoice,
  requires: RequirementChoice | undefined,
): ResourceChoice {
  if (requires === undefined) return choice;
  return choice.flatMap((trees) =>
    requires.map((wanted) => trees.map((tree) => requireOfTree(tree, wanted))),
  );
}

/** On its nodes, which is where subsystems are linked; on its topmost vertices if it has none. */
function requireOfTree(tree: ResourceRequest, wanted: readonly Requirement[]): ResourceRequest {
  const isHere = hasNode(tree) ? tree.type === "node" : tree.type !== "slot";
  if (isHere || tree.with.length === 0) {
    return { ...tree, requires: [...tree.requires, ...wanted] };
  }
  // Beside the branch with the nodes, nothing is required of the others.
  const isPath = (each: ResourceRequest) => !hasNode(tree) || hasNode(each);
  return {
    ...tree,
    with: tree.with.map((each) => (isPath(each) ? requireOfTree(each, wanted) : each)),
  };
}

const hasNode = (tree: ResourceRequest): boolean => tree.type === "node" || tree.with.some(hasNode);
