import { limits } from "../../limits.ts";
import {
  type Draft,
  type DraftGroup,
  type DraftTask,
  freeName,
  type GroupPlacing,
  type NameAt,
} from "./read/draft.ts";
import { reportProblem, type Place, quote, suggest } from "./read/reader.ts";

/** A task or group at the place where it runs, with its name there. */
export interface Placed {
  readonly draft: DraftTask | DraftGroup;
  readonly name: string;
  readonly path: string;
  /** Includes the dependencies of the task that places a group. */
  readonly dependsOn: readonly NameAt[];
  readonly children: readonly Placed[];
}

interface Definition {
  readonly group: DraftGroup;
  /** The group that contains it in the document; undefined: the top level. */
  readonly owner: DraftGroup | undefined;
  readonly name: string;
}

/**
 * Puts every group where it runs: where a task places it by "group: name", else where it is
 * defined. Items without a name get a free one.
 */
export function placeGroups(draft: Draft): readonly Placed[] {
  const definitions = defineGroups(draft);
  const placings = new Map<string, GroupPlacing>();
  const placer: Placer = { definitions, placings, placed: new Set(), referenced: new Set() };
  for (const placing of placingsOf(draft)) placer.referenced.add(placing.group.name);
  const items = placeAll(placer, draft, undefined, []);
  reportPlacingCycles(placer);
  return items;
}

interface Placer {
  readonly definitions: ReadonlyMap<DraftGroup, Definition>;
  readonly placings: Map<string, GroupPlacing>;
  readonly placed: Set<DraftGroup>;
  readonly referenced: Set<string>;
}

interface Lists {
  readonly tasks: readonly (DraftTask | GroupPlacing)[];
  readonly groups: readonly DraftGroup[];
}

const placingsOf = ({ tasks, groups }: Lists): readonly GroupPlacing[] => [
  ...tasks.filter((each) => each.kind === "placing"),
  ...groups.flatMap(placingsOf),
];

/** All groups of the document. Their names must differ, because tasks place them by name. */
function defineGroups(draft: Draft): ReadonlyMap<DraftGroup, Definition> {
  const all: { readonly group: DraftGroup; readonly owner: DraftGroup | undefined }[] = [];
  const collect = (groups: readonly DraftGroup[], owner: DraftGroup | undefined): void => {
    for (const group of groups) {
      all.push({ group, owner });
      collect(group.groups, group);
    }
  };
  collect(draft.groups, undefined);
  const taken = new Map<string, Place>();
  for (const { group } of all) {
    if (group.name === undefined) continue;
    const { name, place } = group.name;
    const other = taken.get(name);
    if (other !== undefined) reportProblem(place, alreadyNamed(name, "group", other));
    else taken.set(name, place);
  }
  return new Map(
    all.map(({ group, owner }, index) => {
      const name = group.name?.name ?? freeName(`group-${index}`, (each) => taken.has(each));
      taken.set(name, group.place);
      return [group, { group, owner, name }];
    }),
  );
}

const alreadyNamed = (name: string, kind: string, other: Place): string =>
  `${quote(name)} is already the name of the ${kind} in line ${other.at.line}`;

function placeAll(
  placer: Placer,
  lists: Lists,
  owner: DraftGroup | undefined,
  around: readonly Definition[],
): readonly Placed[] {
  if (around.length > limits.jobspecGroupDepthMax) {
    const place = owner?.place;
    if (place !== undefined)
      reportProblem(place, `groups are nested more than ${around.length - 1} deep`);
    return [];
  }
  const prefix = around.map(({ name }) => `${name}/`).join("");
  const children: { draft: DraftTask | Definition; dependsOn: readonly NameAt[] }[] = [];
  for (const entry of lists.tasks) {
    if (entry.kind === "task") children.push({ draft: entry, dependsOn: entry.dependsOn });
    else {
      const definition = findPlaced(placer, entry, owner);
      if (definition === undefined) continue;
      placer.placed.add(definition.group);
      children.push({
        draft: definition,
        dependsOn: [...definition.group.dependsOn, ...entry.dependsOn],
      });
    }
  }
  for (const group of lists.groups) {
    const definition = placer.definitions.get(group);
    if (definition === undefined || placer.referenced.has(definition.name)) continue;
    placer.placed.add(group);
    children.push({ draft: definition, dependsOn: group.dependsOn });
  }
  const start = around.length === 0 ? "" : `${around.at(-1)?.name ?? ""}-`;
  const names = nameSiblings(
    children.map(({ draft }) => draft),
    `${start}task-`,
  );
  return children.map(({ draft, dependsOn }, index) => {
    const name = names[index] ?? "";
    const path = `${prefix}${name}`;
    return "kind" in draft
      ? { draft, name, path, dependsOn, children: [] }
      : {
          draft: draft.group,
          name,
          path,
          dependsOn,
          children: placeAll(placer, draft.group, draft.group, [...around, draft]),
        };
  });
}

function findPlaced(
  { definitions, placings }: Placer,
  entry: GroupPlacing,
  owner: DraftGroup | undefined,
): Definition | undefined {
  const { name, place } = entry.group;
  const all = [...definitions.values()];
  const definition = all.find((each) => each.name === name);
  if (definition === undefined) {
    const names = all.map((each) => each.name);
    return reportProblem(
      place,
      `there is no group named ${quote(name)}${suggest(place, name, names)}`,
    );
  }
  if (definition.owner !== undefined && definition.owner !== owner) {
    const outer = definitions.get(definition.owner)?.name ?? "";
    const inside = `is defined inside group ${quote(outer)}: only tasks of that group can place it`;
    return reportProblem(place, `group ${quote(name)} ${inside}`);
  }
  const first = placings.get(name);
  if (first !== undefined) {
    return reportProblem(
      place,
      `group ${quote(name)} is already placed in line ${first.place.at.line}`,
    );
  }
  placings.set(name, entry);
  return definition;
}

/** The names of sibling tasks and groups: their own, or free ones. */
function nameSiblings(
  siblings: readonly (DraftTask | Definition)[],
  start: string,
): readonly string[] {
  const taken = new Map<string, { readonly place: Place; readonly kind: string }>();
  for (const each of siblings) {
    const isTask = "kind" in each;
    const kind = isTask ? "task" : "group";
    const name = isTask ? each.name?.name : each.name;
    const place = isTask ? (each.name?.place ?? each.place) : each.group.place;
    if (name === undefined) continue;
    const other = taken.get(name);
    if (other === undefined) taken.set(name, { place, kind });
    else reportProblem(place, alreadyNamed(name, other.kind, other.place));
  }
  return siblings.map((each, index) => {
    if (!("kind" in each)) return each.name;
    const name = each.name?.name ?? freeName(`${start}${index}`, (one) => taken.has(one));
    if (each.name === undefined) taken.set(name, { place: each.place, kind: "task" });
    return name;
  });
}

/** Reports groups that place each other: no task outside of the cycle places them. */
function reportPlacingCycles({ definitions, placed, referenced }: Placer): void {
  const byName = new Map([...definitions.values()].map((each) => [each.name, each]));
  const seen = new Set<DraftGroup>();
  for (const { group, name, owner } of definitions.values()) {
    if (owner !== undefined || placed.has(group) || !referenced.has(name)) continue;
    const circle: string[] = [];
    let at: Definition | undefined = byName.get(name);
    while (at !== undefined && !circle.includes(at.name) && !seen.has(at.group)) {
      circle.push(at.name);
      seen.add(at.group);
      const inside: readonly Definition[] = placingsOf(at.group).flatMap(
        (each) => byName.get(each.group.name) ?? [],
      );
      at =
        inside.find((each) => circle.includes(each.name)) ??
        inside.find((each) => !placed.has(each.group));
    }
    if (at === undefined || !circle.includes(at.name)) continue;
    const shown = [...circle.slice(circle.indexOf(at.name)), at.name].join(" -> ");
    reportProblem(group.place, `groups place each other: ${shown}`);
  }
}
