import { CHILDREN, type Child, nodeOf } from "../model/children.ts";
import { KINDS, type KindName, type NexusKind } from "../model/kinds.ts";
import { namedKinds, type Path } from "../model/names.ts";

/** The paths of the objects of a kind, as in the data model or as it intended. */
export interface Uri {
  readonly kind: NexusKind;
  /** With node names in braces: /v1alpha1/sites/{site.Site}. The path of a list lacks the last one. */
  readonly pattern: string;
  readonly isList: boolean;
  /** Spelt differently in the data model, by mistake or not at all; documents omit it. */
  readonly isAlias: boolean;
}

interface Declared {
  readonly kind: KindName;
  /** The path of the list; an object's path has its name appended. */
  readonly list?: string;
  readonly object?: string;
  readonly aliases?: readonly string[];
}

const SITE_DC = "{sitedc.SiteDC}";
const EDGE_DC = "{edgedc.EdgeDC}";

const DECLARED: readonly Declared[] = [
  {
    kind: "SchedulerConfig",
    object: "/v1alpha1/schedular",
    aliases: ["/v1alpha1/scheduler"], // the spelling of the data model
  },
  { kind: "Jobgroup", list: "/v1alpha1/job-groups" }, // it had none
  { kind: "Job", list: "/v1alpha1/job-groups/{jobgroup.Jobgroup}/job-requests" },
  { kind: "Site", list: "/v1alpha1/sites" }, // lost because of a blank line
  { kind: "Edge", list: "/v1alpha1/sites/{site.Site}/edges" },
  { kind: "SiteDC", list: "/v1alpha1/info/sites" },
  { kind: "EdgeDC", list: `/v1alpha1/info/sites/${SITE_DC}/edge` },
  {
    kind: "JobInfo",
    list: `/v1alpha1/info/site/${SITE_DC}/edge/${EDGE_DC}/jobs`,
    // Its list lacks a slash in the data model.
    aliases: [`/v1alpha1/info/site/${SITE_DC}edge/${EDGE_DC}/jobs`],
  },
];

export const URIS: readonly Uri[] = DECLARED.flatMap(
  ({ kind: name, list, object, aliases = [] }) => {
    const kind = KINDS[name];
    const isList = list !== undefined;
    return [
      ...(isList ? [{ kind, pattern: list, isList, isAlias: false }] : []),
      { kind, pattern: object ?? `${list}/{${nodeOf(kind)}}`, isList: false, isAlias: false },
      ...aliases.map((pattern) => ({ kind, pattern, isList, isAlias: true })),
    ];
  },
);

/** The object or list of a URL. */
export interface RouteTarget {
  readonly uri: Uri;
  /** The names of the parents, and of an object its own. */
  readonly path: Path;
  /** Only the status, or the children in this field. */
  readonly part?: "status" | Child;
}

interface Matcher {
  readonly uri: Uri;
  readonly expression: RegExp;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A name contains no slash; the list without a name takes the shortest match. */
const MATCHERS: readonly Matcher[] = URIS.map((uri) => ({
  uri,
  expression: new RegExp(
    `^${uri.pattern
      .split(/(\{[^}]+\})/)
      .map((part) => (part.startsWith("{") ? "([^/]+?)" : escaped(part)))
      .join("")}$`,
  ),
}));

/** Segments are decoded already; a slash in them was encoded and is no separator. */
export function targetOf(segments: readonly string[]): RouteTarget | undefined {
  const whole = match(segments);
  if (whole !== undefined) return whole;
  const last = segments.at(-1) ?? "";
  const object = match(segments.slice(0, -1));
  if (object === undefined || object.uri.isList) return undefined;
  if (last === "status") return { ...object, part: "status" };
  const child = CHILDREN[object.uri.kind.kind].find(({ field }) => field === last);
  return child && { ...object, part: child };
}

function match(segments: readonly string[]): RouteTarget | undefined {
  const text = `/${segments.map((one) => encodeURIComponent(one)).join("/")}`;
  for (const { uri, expression } of MATCHERS) {
    const found = expression.exec(text);
    if (found === null) continue;
    return { uri, path: found.slice(1).map((one) => decodeURIComponent(one)) };
  }
  return undefined;
}

/** The path of an object. */
export function addressOf(kind: NexusKind, path: Path): string {
  const uri = URIS.find((one) => one.kind === kind && !one.isList && !one.isAlias);
  const names = new Map(namedKinds(kind).map((one, at) => [nodeOf(one), path[at] ?? ""]));
  return (uri?.pattern ?? "").replaceAll(/\{([^}]+)\}/g, (_, node: string) =>
    encodeURIComponent(names.get(node) ?? ""),
  );
}
