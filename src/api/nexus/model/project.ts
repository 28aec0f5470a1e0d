import type { EnergyJobView, PowerNodeView, ShareTaskView } from "./views.ts";
import { KINDS } from "./kinds.ts";
import type { Path } from "./names.ts";
import { makeObject, type NexusObject, type Notes, toSeconds, uint32 } from "./object.ts";

/** A share of a job that was placed on an edge: a JobInfo and an entry of `execution` show it. */
export interface EdgeShare {
  /** The name of the JobInfo: `<job>-<edge>`, with `.2` for the second share of the job on that edge. */
  readonly name: string;
  readonly site: string;
  readonly edge: string;
  readonly job: JobName;
  readonly task: ShareTaskView;
}

/** The place of a job in the tree. */
export interface JobName {
  readonly id: string;
  readonly group: string;
  readonly display: string;
  /** The prefix of its shares' names, where a job of that name was in another group when it was created. */
  readonly sharesAs?: string;
}

export const jobPath = ({ group, display }: JobName): Path => [group, display];
export const sharePath = ({ site, edge, name }: EdgeShare): Path => [site, edge, name];

/** Values of a client that Busbar has no field for: labels of the job hold them. */
export const JOB_ID_LABEL = "nexus.job-id";
export const CREATION_TIME_LABEL = "nexus.creation-time";
/** Values of the door itself: edges of all groups are in one tree, and names of JobInfos must differ there. */
export const SHARES_AS_LABEL = "nexus.shares-as";

export function nameOfJob({ id, spec }: EnergyJobView): JobName {
  const { name, group, labels = {} } = spec;
  const isNamedHere = labels[JOB_ID_LABEL] !== undefined; // names of other jobs are not unique
  const sharesAs = labels[SHARES_AS_LABEL];
  const display = isNamedHere ? name : `${name}.${id}`;
  return { id, group, display, ...(sharesAs === undefined ? {} : { sharesAs }) };
}

/** The name of its first JobInfo at an edge. */
export const shareNameOf = ({ display, sharesAs = display }: JobName, edge: string): string =>
  `${sharesAs}-${edge}`;

/** The suffix of names of jobs of other doors: a client may not choose such a name. */
export const looksForeign = (display: string): boolean => /\.[1-9]\d*$/.test(display);

const ENDED: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
]);

export const isOver = ({ state }: Pick<ShareTaskView | EnergyJobView, "state">): boolean =>
  ENDED.has(state);

/** Whole percent; 100 only when nothing is left. */
const percentOf = (done: number, all: number): number =>
  all <= 0 ? 100 : Math.min(100, Math.max(0, Math.floor((done * 100) / all)));

/** The energy of a share: for one that ended early the finished part, because the rest is in other shares. */
export const energyOf = ({ state, share }: ShareTaskView): number =>
  share === undefined ? 0 : ENDED.has(state) ? share.doneWattSeconds : share.wattSeconds;

function shareState({ task }: EdgeShare) {
  const energy = energyOf(task);
  const done = task.share?.doneWattSeconds ?? 0;
  return {
    progress: isOver(task) ? 100 : Math.min(99, percentOf(done, energy)),
    startTime: toSeconds(task.startedAtMs),
    endTime: toSeconds(task.endedAtMs ?? task.progress?.reportedAtMs ?? task.startedAtMs),
  };
}

export const jobInfoObject = (share: EdgeShare, notes?: Notes): NexusObject =>
  makeObject(KINDS.JobInfo, {
    path: sharePath(share),
    identity: `${share.task.id}/${share.task.attempt}`,
    createdMs: share.task.assignedAtMs ?? share.task.startedAtMs ?? 0,
    revision: share.task.revision,
    notes,
    spec: {
      requestorJob: share.job.display,
      requestorJobGroup: share.job.group,
      powerNeeded: uint32(energyOf(share.task)),
    },
    state: shareState(share),
  });

/** The base of a job's percentage: its energy, the progress of its tasks, or how many have succeeded. */
function percentOfJob({ state, energy, progress, tasks, taskTotal }: EnergyJobView): number {
  if (state === "succeeded") return 100;
  const percent =
    energy !== undefined
      ? percentOf(energy.doneWattSeconds, energy.wattSeconds)
      : progress !== undefined
        ? Math.floor(progress.percent)
        : percentOf(tasks.succeeded, taskTotal);
  return Math.min(99, percent);
}

export function jobObject(
  view: EnergyJobView,
  shares: readonly EdgeShare[],
  notes?: Notes,
): NexusObject {
  const {
    [JOB_ID_LABEL]: given,
    [CREATION_TIME_LABEL]: madeAt,
    [SHARES_AS_LABEL]: _sharesAs,
    ...labels
  } = view.spec.labels ?? {};
  const execution = shares.map((share) => [
    share.name,
    { powerRequested: uint32(energyOf(share.task)), ...shareState(share) },
  ]);
  return makeObject(KINDS.Job, {
    path: jobPath(nameOfJob(view)),
    identity: view.id,
    createdMs: view.submittedAtMs,
    revision: view.revision,
    labels,
    notes,
    spec: {
      jobId: Number(given ?? view.id),
      powerNeeded: uint32(view.spec.energy?.wattSeconds ?? 0),
      creationTime: madeAt === undefined ? toSeconds(view.submittedAtMs) : Number(madeAt),
    },
    state: {
      percentCompleted: percentOfJob(view),
      startTime: toSeconds(view.startedAtMs),
      endTime: toSeconds(view.endedAtMs),
      execution: Object.fromEntries(execution),
    },
  });
}

/** The work of an edge, finished and under way. */
export interface EdgeWork {
  /** Shares under way, the oldest first. */
  readonly open: readonly EdgeShare[];
  readonly completed: number;
  readonly served: number;
  /** The revision of the last change of any of its shares. */
  readonly revision: number;
}

/** The name of a node as an edge: another site may have a node of that name. */
export const EDGE_LABEL = "nexus.edge";
export const edgeOf = ({ name, labels }: Pick<PowerNodeView, "name" | "labels">): string =>
  labels[EDGE_LABEL] ?? name;

export const edgePath = (node: PowerNodeView): Path => [node.cluster, edgeOf(node)];

const sinceOf = (node: PowerNodeView): number => node.connectedAtMs ?? node.disconnectedAtMs ?? 0;

export function edgeObject(node: PowerNodeView, work: EdgeWork, notes?: Notes): NexusObject {
  const [current] = work.open;
  const watts = node.connectedAtMs === undefined ? 0 : (node.power?.watts ?? 0);
  const revision = Math.max(node.revision, work.revision);
  return makeObject(KINDS.Edge, {
    path: edgePath(node),
    createdMs: sinceOf(node),
    revision,
    labels: node.labels,
    notes,
    state: {
      powerInfo: {
        totalPowerAvailable: uint32(watts),
        // An edge works on one share at a time, the edges of a site below together on several.
        freePowerAvailable: work.open.length < (node.power?.sharesMax ?? 1) ? uint32(watts) : 0,
      },
      currentJob: current?.job.display ?? "",
      currentJobPercentCompleted: current === undefined ? 0 : shareState(current).progress,
      currentJobPowerRequested: current === undefined ? 0 : uint32(energyOf(current.task)),
      totalJobsProcessed: uint32(work.completed),
      totalPowerServed: uint32(work.served),
    },
  });
}

export const edgeDcObject = (node: PowerNodeView, notes?: Notes): NexusObject =>
  makeObject(KINDS.EdgeDC, {
    path: edgePath(node),
    createdMs: sinceOf(node),
    revision: node.revision,
    notes,
  });

/** A node's cluster, or a place that clients named before it had objects. */
export interface SiteRef {
  readonly name: string;
  readonly createdMs: number;
  readonly revision: number;
}

export const siteObject = (site: SiteRef, notes?: Notes): NexusObject =>
  makeObject(KINDS.Site, {
    path: [site.name],
    createdMs: site.createdMs,
    revision: site.revision,
    notes,
  });

/** The label with the group that a site works for. */
export const SITE_GROUP = KINDS.Jobgroup.crd;

/** `group`: that of the shares under way there, or the one that a scheduler wrote. */
export function siteDcObject(site: SiteRef, group: string | undefined, notes?: Notes): NexusObject {
  const { [SITE_GROUP]: _given, ...labels } = notes?.labels ?? {};
  return makeObject(KINDS.SiteDC, {
    path: [site.name],
    createdMs: site.createdMs,
    revision: site.revision,
    labels: group === undefined ? {} : { [SITE_GROUP]: group },
    notes: notes && { ...notes, labels },
  });
}

export const groupObject = (group: SiteRef, notes?: Notes): NexusObject =>
  makeObject(KINDS.Jobgroup, {
    path: [group.name],
    createdMs: group.createdMs,
    revision: group.revision,
    notes,
  });

/** Root, Config, Inventory and DesiredSiteConfig, which exist as long as the server. */
export const singletonObject = (
  kind: "PowerScheduler" | "Config" | "Inventory" | "DesiredSiteConfig",
  since: { readonly sinceMs: number; readonly sinceRevision: number },
  notes?: Notes,
): NexusObject =>
  makeObject(KINDS[kind], {
    path: [],
    createdMs: since.sinceMs,
    revision: since.sinceRevision,
    notes,
  });

export interface SchedulerStats {
  readonly jobsEnded: number;
  readonly energyDone: number;
  readonly jobsQueued: number;
  readonly jobsRunning: number;
  readonly freeEdges: number;
  readonly busyEdgesPerSite: ReadonlyMap<string, number>;
  /** Jobs per second. */
  readonly rate1Min: number;
  readonly rate10Sec: number;
}

export function schedulerObject(
  stats: SchedulerStats,
  at: { readonly createdMs: number; readonly revision: number },
  notes?: Notes,
): NexusObject {
  const busy = [...stats.busyEdgesPerSite];
  return makeObject(KINDS.SchedulerConfig, {
    path: [],
    ...at,
    notes,
    state: {
      totalJobsExecuted: {
        totalJobsProcessed: uint32(stats.jobsEnded),
        totalPowerProcessed: uint32(stats.energyDone),
      },
      jobsQueued: uint32(stats.jobsQueued),
      jobsRunning: uint32(stats.jobsRunning),
      busyEdges: uint32(busy.reduce((sum, [, count]) => sum + count, 0)),
      freeEdges: uint32(stats.freeEdges),
      jobRate1Min: uint32(stats.rate1Min * 1_000),
      jobRate10Sec: uint32(stats.rate10Sec * 1_000),
      busyEdgesPerSite: Object.fromEntries(busy.map(([site, count]) => [site, uint32(count)])),
    },
  });
}
