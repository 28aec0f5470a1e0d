import type { NexusKind, KindName } from "./kinds.ts";

/** A field as OpenAPI describes it: the source of documents, `kubectl explain` and strict checks. */
export type Field =
  | {
      readonly type: "integer";
      readonly format: "int64";
      readonly minimum?: number;
      readonly description: string;
    }
  | { readonly type: "string"; readonly description: string }
  | {
      readonly type: "object";
      readonly description: string;
      readonly properties?: Readonly<Record<string, Field>>;
      readonly additionalProperties?: Field;
      readonly nullable?: true;
    };

type Fields = Readonly<Record<string, Field>>;

const text = (description: string): Field => ({ type: "string", description });
/** uint32 and uint64 of the old wire: integers from 0. */
const count = (description: string): Field => ({
  type: "integer",
  format: "int64",
  minimum: 0,
  description,
});
const seconds = (description: string): Field => ({
  type: "integer",
  format: "int64",
  description: `${description}, in seconds since 1970; 0: not yet`,
});
const group = (description: string, properties: Fields): Field => ({
  type: "object",
  description,
  properties,
});
const map = (description: string, of: Field): Field => ({
  type: "object",
  description,
  additionalProperties: of,
  nullable: true,
});

const reference = group("One child.", {
  group: text("Its group."),
  kind: text("Its kind."),
  name: text("Its name."),
});
const GVK = "Always empty: labels tell what belongs to what.";
const children = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, map(GVK, reference)]));
const child = (...names: readonly string[]): Fields =>
  Object.fromEntries(names.map((name) => [name, { ...reference, description: GVK }]));

const SPECS: Readonly<Record<KindName, Fields>> = {
  PowerScheduler: child("inventoryGvk", "configGvk", "desiredSiteConfigGvk"),
  Config: { ...children("jobGroupsGvk"), ...child("schedulerGvk") },
  Jobgroup: children("jobsGvk"),
  SchedulerConfig: {},
  Job: {
    jobId: count("The number that its requester set; else its id in Busbar."),
    powerNeeded: count("Energy that it needs, in watt-seconds; 0: an ordinary job."),
    creationTime: seconds("When its requester created it"),
  },
  Inventory: children("siteGvk"),
  Site: children("edgesGvk"),
  Edge: {},
  DesiredSiteConfig: children("sitesDCGvk"),
  SiteDC: children("edgesDCGvk"),
  EdgeDC: children("jobsInfoGvk"),
  JobInfo: {
    requestorJob: text("The job whose share it is."),
    requestorJobGroup: text("The group of that job."),
    powerNeeded: count("Energy of the share, in watt-seconds."),
  },
};

const NOT_STARTED = seconds("When it began");
const STATES: Readonly<Partial<Record<KindName, Fields>>> = {
  Job: {
    percentCompleted: count("How much of its energy, or of its tasks, is done."),
    startTime: NOT_STARTED,
    endTime: seconds("When it ended"),
    execution: map(
      "Its shares, by the names of their JobInfos.",
      group("One share.", {
        powerRequested: count("Energy of the share, in watt-seconds."),
        startTime: NOT_STARTED,
        endTime: seconds("When it ended, or when progress was last reported"),
        progress: count("Percent of the share that is done."),
      }),
    ),
  },
  JobInfo: {
    progress: count("Percent that is done."),
    startTime: NOT_STARTED,
    endTime: seconds("When it ended, or when progress was last reported"),
  },
  Edge: {
    powerInfo: group("Its power now.", {
      totalPowerAvailable: count("Watts it has."),
      freePowerAvailable: count("Watts that no share uses."),
    }),
    currentJob: text("The job it works for; empty: none."),
    currentJobPercentCompleted: count("Percent of its share that is done."),
    currentJobPowerRequested: count("Energy of its share, in watt-seconds."),
    totalJobsProcessed: count("Shares that it has completed, of retained jobs."),
    totalPowerServed: count("Energy of these shares, in watt-seconds."),
  },
  SchedulerConfig: {
    totalJobsExecuted: group("Ended jobs that are retained.", {
      totalJobsProcessed: count("Jobs."),
      totalPowerProcessed: count("Energy that was done, in watt-seconds."),
    }),
    jobsQueued: count("Jobs without a started share."),
    jobsRunning: count("Jobs with a share under way."),
    busyEdges: count("Edges that run a share."),
    freeEdges: count("Edges that could start one."),
    jobRate1Min: count("Jobs that ended in the last minute, in thousandths a second."),
    jobRate10Sec: count("The same of the last ten seconds."),
    busyEdgesPerSite: map("Busy edges, by site.", count("Edges.")),
  },
};

const NEXUS = group("For the connector of the old system; not used.", {
  sourceGeneration: count("0."),
  remoteGeneration: count("0."),
  syncerStatus: group("0.", { etcdVersion: count("0."), cRGenerationId: count("0.") }),
});

export const specFields = ({ kind }: NexusKind): Fields => SPECS[kind];

export const statusFields = ({ kind }: NexusKind): Fields => {
  const state = STATES[kind];
  return {
    ...(state === undefined ? {} : { state: group("Its status.", state) }),
    nexus: NEXUS,
  };
};

/** Paths of fields that the schema does not have: `spec.powerneeded`. */
export function unknownFields(value: unknown, fields: Fields, at: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const field = fields[name];
    const path = `${at}.${name}`;
    if (field === undefined) return [path];
    if (field.type !== "object") return [];
    if (field.properties !== undefined) return unknownFields(inner, field.properties, path);
    const of = field.additionalProperties;
    if (of?.type !== "object" || typeof inner !== "object" || inner === null) return [];
    return Object.entries(inner).flatMap(([key, each]) =>
      unknownFields(each, of.properties ?? {}, `${path}.${key}`),
    );
  });
}
