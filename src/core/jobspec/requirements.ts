import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request.ts";
import { freeName } from "./draft.ts";
import type { NameChoice } from "./model.ts";

type Sets = Map<string, readonly Requirement[]>;

/** What a requirement is about: an inner one replaces an outer one about the same. */
const keyOf = ({ subsystem, conditions }: Requirement): string =>
  JSON.stringify([subsystem, ...conditions.map(({ field }) => field).sort()]);

/**
 * The requirements of a level together with those of the level around it, except what the inner
 * level says otherwise. Sets of which only a part is left get a name of their own.
 */
export function inheritRequires(
  sets: Sets,
  outer: NameChoice | undefined,
  own: NameChoice | undefined,
): NameChoice | undefined {
  if (outer === undefined || own === undefined) return own ?? outer;
  return own.flatMap((names) => {
    const said = new Set(names.flatMap((name) => (sets.get(name) ?? []).map(keyOf)));
    return outer.map((around) => [
      ...around
        .filter((name) => !names.includes(name))
        .flatMap((name) => withoutSaid(sets, name, said)),
      ...names,
    ]);
  });
}

function withoutSaid(sets: Sets, name: string, said: ReadonlySet<string>): readonly string[] {
  const all = sets.get(name) ?? [];
  const left = all.filter((each) => !said.has(keyOf(each)));
  if (left.length === all.length) return [name];
  if (left.length === 0) return [];
  const rest = freeName(`${name}-rest`, (each) => sets.has(each));
  sets.set(rest, left);
  return [rest];
}

/** Every way to meet both: resources by preference, for each the requirements by preference. */
export function requireOf(
  choice: ResourceChoice,
  sets: ReadonlyMap<string, readonly Requirement[]>,
  requires: NameChoice | undefined,
): ResourceChoice {
  if (requires === undefined) return choice;
  return choice.flatMap((trees) =>
    requires.map((names) => {
      const wanted = names.flatMap((name) => sets.get(name) ?? []);
      return trees.map((tree) => requireOfTree(tree, wanted));
    }),
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
