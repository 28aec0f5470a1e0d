import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request/request.ts";
import { attributesOfResources, disagreements } from "./attributes.ts";
import { type DependencyScope, resolveDependencies } from "./dependencies.ts";
import type { Draft, Reference } from "./read/draft.ts";
import type { Jobspec, JobspecItem, NameChoice, NamedResource } from "./model.ts";
import { reportCycles } from "./order.ts";
import { type Placed, placeGroups } from "./place-groups.ts";
import { reportProblem, descend, type Place, quote, suggest } from "./read/reader.ts";
import {
  addToOwn,
  inheritRequirements,
  type RequirementChoice,
  requirementsOf,
  requireOf,
} from "./requirements.ts";
import { whyNotWithin } from "./subset.ts";

/** What an item inherits from the levels around it. */
interface Around {
  /** Of the nearest group with resources, without requirements; undefined: no group has any. */
  readonly resources: ResourceChoice | undefined;
  readonly requires: RequirementChoice | undefined;
  /** 0: no limit. */
  readonly durationMs: number | undefined;
  /** "group "train"", for messages. */
  readonly title: string;
  /** The nearest scope first. */
  readonly scopes: readonly DependencyScope[];
}

interface Document {
  readonly draft: Draft;
  /** Grows when an inner level overrides a part of a set: the rest becomes a new set. */
  readonly sets: Map<string, readonly Requirement[]>;
  /** The size of each resource; the sum over all tasks is limited. */
  readonly sizes: ReadonlyMap<ResourceRequest, number>;
  size: number;
}

/** Resolves every name, applies inheritance, and checks the result. */
export function resolve(draft: Draft): Jobspec {
  const requests = [...draft.resources.values()].map(({ request }) => request);
  const document: Document = {
    draft,
    sets: new Map(draft.requires),
    sizes: new Map(requests.map((each) => [each, sizeOf(each)])),
    size: 0,
  };
  const placed = placeGroups(draft);
  const count = countItems(placed);
  if (count > limits.jobspecItemsMax) {
    reportProblem(draft.place, `has ${count} tasks and groups; at most ${limits.jobspecItemsMax}`);
    return { ...emptyOf(draft), items: [] };
  }
  const around: Around = {
    resources: undefined,
    requires: undefined,
    durationMs: draft.attributes.durationMs,
    title: "the jobspec",
    scopes: [],
  };
  const items = buildAll(document, placed, around);
  reportCycles(items, placesOf(placed));
  if (items.length === 0) return { ...emptyOf(draft), resources: resourcesAlone(draft), items };
  return { ...emptyOf(draft), requires: document.sets, items };
}

/** In a document without tasks, the requirements of the document apply to its resources. */
function resourcesAlone({
  place,
  resources,
  requires,
  requiredByAll,
}: Draft): Jobspec["resources"] {
  if (requiredByAll === undefined) return resources;
  const wanted = requires.get(requiredByAll) ?? [];
  const vertices = sum([...resources.values()].map(({ request }) => sizeOf(request)));
  if (vertices * wanted.length > limits.jobspecSizeMax) {
    reportProblem(place, `requests more than ${limits.jobspecSizeMax} resources and requirements`);
    return resources;
  }
  const required = ({ request }: NamedResource): ResourceRequest =>
    requireOf([[request]], [wanted])[0]?.[0] ?? request;
  return new Map(
    [...resources].map(([name, each]) => [name, { ...each, request: required(each) }]),
  );
}

const emptyOf = ({ dialect, name, attributes, resources, requires }: Draft) => ({
  dialect,
  name,
  attributes,
  resources,
  requires,
});

const countItems = (placed: readonly Placed[]): number =>
  placed.reduce((sum, { children }) => sum + 1 + countItems(children), 0);

const placesOf = (placed: readonly Placed[]): ReadonlyMap<string, Place> =>
  new Map(
    placed.flatMap(({ path, draft, children }) => [[path, draft.place], ...placesOf(children)]),
  );

function buildAll(
  document: Document,
  placed: readonly Placed[],
  around: Around,
): readonly JobspecItem[] {
  const scope = new Map(placed.map((each) => [each.name, each]));
  const scopes = [scope, ...around.scopes];
  return placed.map((each) => build(document, each, { ...around, scopes }));
}

function build(document: Document, placed: Placed, around: Around): JobspecItem {
  const { draft, name, path } = placed;
  const { sets } = document;
  const asks = lookUp(document, draft.asks) ?? sumOfChildren(document, placed, around);
  const asked = asks === undefined ? undefined : treesOf(document.draft, asks);
  const held = asked ?? around.resources;
  const isLocal = draft.kind === "task" && draft.isLocal;
  if (held === undefined && !isLocal) {
    const why =
      around.scopes.length > 1 ? `${around.title} has none either` : "no group is around it";
    reportProblem(draft.place, `needs "resources": ${why}`);
  }
  const named = ownRequires(document, placed, around);
  const isBounded = checkSize(document, placed, around, { held: held ?? [], named });
  const own = named === undefined || !isBounded ? undefined : requirementsOf(sets, named);
  const requires = isBounded ? inheritRequirements(around.requires, own) : undefined;
  if (asks !== undefined && isBounded) checkAsks(document, placed, asks, around);
  const durationMs = checkDuration(document, placed, asks, around);
  const common = {
    name,
    path,
    at: draft.place.at,
    asks,
    resources: isBounded ? requireOf(held ?? [], requires) : [],
    requires: named,
    dependsOn: resolveDependencies(placed, around.scopes),
    attributes: draft.attributes,
  };
  if (draft.kind === "task") {
    const { work, replicas, processes } = draft;
    return { kind: "task", ...common, work, replicas, processes, isLocal: draft.isLocal };
  }
  const inside: Around = {
    resources: held,
    requires,
    durationMs,
    title: `group ${quote(name)}`,
    scopes: around.scopes,
  };
  return { kind: "group", ...common, items: buildAll(document, placed.children, inside) };
}

/** A short document can request much: by naming a large resource often, or by many alternatives. */
function checkSize(
  document: Document,
  { draft }: Placed,
  around: Around,
  { held, named = [[]] }: { held: ResourceChoice; named?: NameChoice | undefined },
): boolean {
  const outer = around.requires ?? [[]];
  const ways = Math.max(1, held.length) * named.length * outer.length;
  if (ways > limits.jobspecAlternativesMax) {
    const most = limits.jobspecAlternativesMax;
    reportProblem(
      draft.place,
      `${ways} alternatives of resources and requirements; at most ${most}`,
    );
    return false;
  }
  const vertices = (choice: ResourceChoice): number =>
    sum(choice.flat().map((tree) => document.sizes.get(tree) ?? 1));
  const wanted = sum(named.flat().map((name) => document.sets.get(name)?.length ?? 0));
  const inherited = sum(outer.map(({ length }) => length));
  const wasBounded = document.size <= limits.jobspecSizeMax;
  document.size +=
    vertices(held) * named.length * outer.length +
    Math.max(1, held.length) * (wanted * outer.length + inherited * named.length) +
    vertices(around.resources ?? []);
  const isBounded = document.size <= limits.jobspecSizeMax;
  if (wasBounded && !isBounded) {
    const most = limits.jobspecSizeMax;
    reportProblem(
      draft.place,
      `with it the tasks request more than ${most} resources and requirements`,
    );
  }
  return isBounded;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

const sizeOf = ({ requires, with: parts }: ResourceRequest): number =>
  1 + requires.length + sum(parts.map(sizeOf));

const treesOf = ({ resources }: Draft, asks: NameChoice): ResourceChoice =>
  asks.map((names) =>
    names.flatMap((name) => {
      const found = resources.get(name);
      return found === undefined ? [] : [found.request];
    }),
  );

function lookUp({ draft }: Document, asks: Reference | undefined): NameChoice | undefined {
  if (asks === undefined) return undefined;
  for (const name of new Set(asks.choice.flat())) {
    if (draft.resources.has(name)) continue;
    reportProblem(
      asks.place,
      `there is no resource named ${quote(name)}${suggest(asks.place, name, draft.resources.keys())}`,
    );
  }
  return asks.choice;
}

function lookUpSets(sets: Document["sets"], named: Reference | undefined): NameChoice | undefined {
  if (named === undefined) return undefined;
  for (const name of new Set(named.choice.flat())) {
    if (sets.has(name)) continue;
    const hint = suggest(named.place, name, sets.keys());
    reportProblem(named.place, `there is no set of requirements named ${quote(name)}${hint}`);
  }
  return named.choice;
}

/** The requirements of the document become requirements of its outermost tasks and groups. */
function ownRequires(
  { draft: { requiredByAll }, sets }: Document,
  { draft }: Placed,
  around: Around,
): NameChoice | undefined {
  const own = lookUpSets(sets, draft.requires);
  const isOutermost = around.scopes.length === 1;
  return isOutermost && requiredByAll !== undefined ? addToOwn(sets, requiredByAll, own) : own;
}

/** In draft 2 a group without resources has the sum of its tasks' requests. */
function sumOfChildren(
  { draft: { dialect } }: Document,
  { draft, children }: Placed,
  around: Around,
): NameChoice | undefined {
  if (dialect !== "draft-2" || draft.kind !== "group" || around.resources !== undefined) {
    return undefined;
  }
  const asked = children.map((each) => each.draft.asks?.choice);
  if (asked.length === 0 || asked.some((choice) => choice?.length !== 1)) return undefined;
  return [asked.flatMap((choice) => choice?.[0] ?? [])];
}

function checkAsks(document: Document, placed: Placed, asks: NameChoice, around: Around): void {
  const { draft } = placed;
  const place = draft.asks?.place ?? draft.place;
  for (const key of disagreements(document.draft.resources, asks, draft.attributes)) {
    const names = [...new Set(asks.flat())].map(quote).join(" and ");
    reportProblem(place, `${names} have different values of ${key}; write it in attributes here`);
  }
  if (around.resources === undefined || asks.length === 0) return;
  const why = whyNotWithin(treesOf(document.draft, asks), around.resources);
  if (why !== undefined) reportProblem(place, `requests more than ${around.title} has: ${why}`);
}

/**
 * Items of a group must not have a longer duration than the group. Returns the duration that
 * applies inside.
 */
function checkDuration(
  { draft: { resources } }: Document,
  { draft }: Placed,
  asks: NameChoice | undefined,
  around: Around,
): number | undefined {
  const ofResources = attributesOfResources(resources, asks).durationMs;
  const own = draft.attributes.durationMs;
  const place = draft.asks?.place ?? draft.place;
  if (isLonger(ofResources, around.durationMs) && own === undefined) {
    const [inner, outer] = [describe(ofResources), describe(around.durationMs)];
    reportProblem(
      place,
      `its resources may run for ${inner}, longer than ${around.title}: ${outer}`,
    );
  }
  const outer = isLonger(ofResources, around.durationMs)
    ? around.durationMs
    : (ofResources ?? around.durationMs);
  if (isLonger(own, outer)) {
    const title = outer === around.durationMs ? around.title : "its resources";
    const at =
      descend(draft.place, "attributes", "duration") ??
      descend(draft.place, "attributes", "system", "duration") ??
      draft.place;
    reportProblem(at, `${describe(own)} is longer than ${title} may run: ${describe(outer)}`);
  }
  return own ?? outer;
}

const isLonger = (inner: number | undefined, outer: number | undefined): boolean =>
  inner !== undefined && outer !== undefined && (inner || Infinity) > (outer || Infinity);

const describe = (ms: number | undefined): string =>
  ms === undefined || ms === 0 ? "without limit" : formatDuration(ms);
