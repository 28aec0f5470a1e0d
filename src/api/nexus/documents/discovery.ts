import { type Accepted, accepts } from "./accept.ts";
import { GROUPS, type NexusKind, SERVED, VERSION } from "../model/kinds.ts";

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const SINGLETON_VERBS = ["create", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS = ["get", "patch", "update"];

const verbsOf = ({ isSingleton }: NexusKind): readonly string[] =>
  isSingleton ? SINGLETON_VERBS : VERBS;

const servedIn = (group: string): readonly NexusKind[] =>
  SERVED.filter((served) => served.group === group).map(({ kind }) => kind);

const groupVersion = (group: string) => ({
  groupVersion: group === "" ? VERSION : `${group}/${VERSION}`,
  version: VERSION,
});

const apiGroup = (name: string) => ({
  name,
  versions: [groupVersion(name)],
  preferredVersion: groupVersion(name),
});

/** The first document that kubectl requests; one for all groups. */
const AGGREGATED: Accepted = { as: "APIGroupDiscoveryList", group: "apidiscovery.k8s.io" };

export interface Discovered {
  readonly type: string;
  readonly body: object;
}

export const apis = (accept: string | undefined): Discovered =>
  discover(accept, () => GROUPS.map(discoveredGroup), {
    kind: "APIGroupList",
    apiVersion: VERSION,
    groups: GROUPS.map(apiGroup),
  });

/** The core group has only events. */
export const api = (accept: string | undefined): Discovered =>
  discover(accept, () => [coreGroup()], {
    kind: "APIVersions",
    versions: [VERSION],
    serverAddressByClientCIDRs: [],
  });

function discover(
  accept: string | undefined,
  items: () => readonly object[],
  legacy: object,
): Discovered {
  for (const version of ["v2", "v2beta1"]) {
    if (!accepts(accept, { ...AGGREGATED, version })) continue;
    const kind = AGGREGATED.as;
    return {
      type: `application/json;g=${AGGREGATED.group};v=${version};as=${kind}`,
      body: { kind, apiVersion: `${AGGREGATED.group}/${version}`, metadata: {}, items: items() },
    };
  }
  return { type: "application/json", body: legacy };
}

function discoveredGroup(group: string): object {
  const resources = servedIn(group).map((kind) => ({
    resource: kind.plural,
    responseKind: { group, version: VERSION, kind: kind.kind },
    scope: "Cluster",
    singularResource: kind.singular,
    shortNames: [kind.singular],
    verbs: verbsOf(kind),
    subresources: [
      {
        subresource: "status",
        responseKind: { group, version: VERSION, kind: kind.kind },
        verbs: STATUS_VERBS,
      },
    ],
  }));
  const versions = [{ version: VERSION, resources, freshness: "Current" }];
  return { metadata: { name: group, creationTimestamp: null }, versions };
}

const EVENT_VERBS = ["get", "list"];

function coreGroup(): object {
  const resources = [
    {
      resource: "events",
      responseKind: { group: "", version: VERSION, kind: "Event" },
      scope: "Namespaced",
      singularResource: "event",
      shortNames: ["ev"],
      verbs: EVENT_VERBS,
    },
  ];
  const versions = [{ version: VERSION, resources, freshness: "Current" }];
  return { metadata: { name: "", creationTimestamp: null }, versions };
}

/** GET /apis/GROUP; undefined: there is no such group. */
export const oneGroup = (group: string): object | undefined =>
  GROUPS.includes(group)
    ? { kind: "APIGroup", apiVersion: VERSION, ...apiGroup(group) }
    : undefined;

/** GET /apis/GROUP/v1, and /api/v1 of the group "". */
export function resourcesOf(group: string): object | undefined {
  const list = (resources: readonly object[]) => ({
    kind: "APIResourceList",
    apiVersion: VERSION,
    groupVersion: groupVersion(group).groupVersion,
    resources,
  });
  if (group === "") {
    const event = { name: "events", singularName: "event", namespaced: true, kind: "Event" };
    return list([{ ...event, verbs: EVENT_VERBS, shortNames: ["ev"] }]);
  }
  const kinds = servedIn(group);
  if (kinds.length === 0) return undefined;
  return list(
    kinds.flatMap((kind) => {
      const one = { singularName: kind.singular, namespaced: false, kind: kind.kind };
      const shortNames = [kind.singular];
      return [
        { name: kind.plural, ...one, verbs: verbsOf(kind), shortNames },
        { name: `${kind.plural}/status`, ...one, singularName: "", verbs: STATUS_VERBS },
      ];
    }),
  );
}

/** For clients that read a server's version before anything else. */
export const versionOf = (version: string): object => ({
  major: "1",
  minor: "32",
  gitVersion: `v1.32.0+busbar-${version}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
});
