/** The names and parents of the twelve kinds of the data model. */
export interface NexusKind {
  readonly kind: KindName;
  readonly plural: string;
  readonly singular: string;
  readonly group: string;
  /** `plural.group`: in labels of its children, and in names. */
  readonly crd: string;
  /** It is a singleton, named "default". */
  readonly isSingleton: boolean;
  /** Root first. */
  readonly ancestors: readonly KindName[];
  /** Edge and SchedulerConfig have only a status. */
  readonly hasSpec: boolean;
  readonly description: string;
}

export const KIND_NAMES = [
  "PowerScheduler",
  "Config",
  "Jobgroup",
  "SchedulerConfig",
  "Job",
  "Inventory",
  "Site",
  "Edge",
  "DesiredSiteConfig",
  "SiteDC",
  "EdgeDC",
  "JobInfo",
] as const;
export type KindName = (typeof KIND_NAMES)[number];

interface Declared extends Pick<NexusKind, "plural" | "group" | "description"> {
  readonly isSingleton?: true;
  readonly hasNoSpec?: true;
  readonly ancestors: readonly KindName[];
}

const CONFIG: readonly KindName[] = ["PowerScheduler", "Config"];
const INVENTORY: readonly KindName[] = ["PowerScheduler", "Inventory"];
const DESIRED: readonly KindName[] = ["PowerScheduler", "DesiredSiteConfig"];

const DECLARED: Readonly<Record<KindName, Declared>> = {
  PowerScheduler: {
    plural: "powerschedulers",
    group: "root.intel.com",
    isSingleton: true,
    ancestors: [],
    description: "The root of the tree.",
  },
  Config: {
    plural: "configs",
    group: "config.intel.com",
    isSingleton: true,
    ancestors: ["PowerScheduler"],
    description: "The wanted work: job groups and their jobs.",
  },
  Jobgroup: {
    plural: "jobgroups",
    group: "jobgroup.intel.com",
    ancestors: CONFIG,
    description: "A group of jobs: one of Busbar's groups.",
  },
  SchedulerConfig: {
    plural: "schedulerconfigs",
    group: "jobgroup.intel.com",
    isSingleton: true,
    hasNoSpec: true,
    ancestors: CONFIG,
    description: "Statistics of the scheduler, as they are now.",
  },
  Job: {
    plural: "jobs",
    group: "jobscheduler.intel.com",
    ancestors: [...CONFIG, "Jobgroup"],
    description: "A job. One that needs power is split into shares over edges.",
  },
  Inventory: {
    plural: "inventories",
    group: "inventory.intel.com",
    isSingleton: true,
    ancestors: ["PowerScheduler"],
    description: "The inventory: sites and their edges.",
  },
  Site: {
    plural: "sites",
    group: "site.intel.com",
    ancestors: INVENTORY,
    description: "A site with edges: one of Busbar's clusters.",
  },
  Edge: {
    plural: "edges",
    group: "edge.intel.com",
    hasNoSpec: true,
    ancestors: [...INVENTORY, "Site"],
    description: "An edge and its power: one of Busbar's nodes.",
  },
  DesiredSiteConfig: {
    plural: "desiredsiteconfigs",
    group: "runtimedesiredconfig.intel.com",
    isSingleton: true,
    ancestors: ["PowerScheduler"],
    description: "What the scheduler wants of sites and edges.",
  },
  SiteDC: {
    plural: "sitedcs",
    group: "sitedc.intel.com",
    ancestors: DESIRED,
    description: "What is wanted of a site.",
  },
  EdgeDC: {
    plural: "edgedcs",
    group: "edgedc.intel.com",
    ancestors: [...DESIRED, "SiteDC"],
    description: "What is wanted of an edge.",
  },
  JobInfo: {
    plural: "jobinfos",
    group: "jobmgmt.intel.com",
    ancestors: [...DESIRED, "SiteDC", "EdgeDC"],
    description: "The share of a job that an edge runs.",
  },
};

function kindOf(kind: KindName): NexusKind {
  const { plural, group, ancestors, description, isSingleton, hasNoSpec } = DECLARED[kind];
  return {
    kind,
    plural,
    singular: kind.toLowerCase(),
    group,
    crd: `${plural}.${group}`,
    isSingleton: isSingleton === true,
    ancestors,
    hasSpec: hasNoSpec !== true,
    description,
  };
}

export const KINDS: Readonly<Record<KindName, NexusKind>> = Object.fromEntries(
  KIND_NAMES.map((kind) => [kind, kindOf(kind)]),
) as Record<KindName, NexusKind>;

export const ALL_KINDS: readonly NexusKind[] = KIND_NAMES.map((kind) => KINDS[kind]);

/** The version of every kind. */
export const VERSION = "v1";

/** A kind as it is served: in its own group, or in one that documentation uses. */
export interface Served {
  readonly kind: NexusKind;
  readonly group: string;
}

/** The seed's README requests the scheduler's statistics in the group of jobs. */
const ALIAS: Served = { kind: KINDS.SchedulerConfig, group: "jobscheduler.intel.com" };

export const SERVED: readonly Served[] = [
  ...ALL_KINDS.map((kind) => ({ kind, group: kind.group })),
  ALIAS,
];

const BY_PATH = new Map(SERVED.map((served) => [`${served.group}/${served.kind.plural}`, served]));

/** The kind that is served under /apis/GROUP/v1/PLURAL. */
export const servedAt = (group: string, plural: string): Served | undefined =>
  BY_PATH.get(`${group}/${plural}`);

/** Groups of the API in a fixed order. */
export const GROUPS: readonly string[] = [...new Set(SERVED.map(({ group }) => group))];

export const apiVersionOf = ({ group }: Served): string => `${group}/${VERSION}`;
