import type {
  CountJobsResponse,
  Dependency,
  Explanation,
  Group,
  Job,
  JobSpec,
  Node,
  OfferedTask,
  PastAttempt,
  Selection,
  Stats,
  SubmittedJob,
  Task,
  TaskCounts,
  TriedJob,
  Usage,
  WatchEvent,
} from "../client/messages.ts";
import type { NodeFacts } from "../core/model/node/node-facts.ts";
import { stateName, stateNames } from "../client/state.ts";
import type * as Rows from "./rows.ts";

/**
 * The wire's messages as the rows that `--output json` promises and tables show: 64-bit numbers
 * as numbers, states by their names, and what the wire calls 0 or "" for "none" left out.
 */
export function toJobRow(job: Job): Rows.JobRow {
  return compact<Rows.JobRow>({
    id: job.id,
    spec: toSpecRow(job.spec),
    state: stateName(job.state),
    tasks: toCounts(job.tasks),
    taskTotal: Number(job.taskTotal),
    submittedAtMs: Number(job.submittedAtMs),
    startedAtMs: time(job.startedAtMs),
    endedAtMs: time(job.endedAtMs),
    submittedBy: text(job.submittedBy),
    idempotencyKey: text(job.idempotencyKey),
    reason: text(job.reason),
    exitCode: job.exitCode,
    usage: toUsageRow(job.usage),
    revision: Number(job.revision),
  });
}

/** undefined: nothing was measured. */
function toUsageRow(usage: Usage | undefined): Rows.UsageRow | undefined {
  const row = compact<Rows.UsageRow>({
    cpuMs: usage?.cpuMs,
    wallMs: usage?.wallMs,
    maxRssBytes: usage?.maxRssBytes === undefined ? undefined : Number(usage.maxRssBytes),
    majorFaults: usage?.majorFaults === undefined ? undefined : Number(usage.majorFaults),
  });
  return Object.keys(row).length === 0 ? undefined : row;
}

export const toOfferedRow = (task: OfferedTask): Rows.OfferedRow => ({
  id: task.id,
  attempt: task.attempt,
  spec: toSpecRow(task.spec),
  offeredAtMs: Number(task.offeredAtMs),
});

function toSpecRow(spec: JobSpec | undefined): Rows.SpecRow {
  return compact<Rows.SpecRow>({
    name: spec?.name ?? "",
    group: spec?.group ?? "",
    labels: map(spec?.labels),
    command: spec === undefined || spec.command.length === 0 ? undefined : [...spec.command],
    script: text(spec?.script),
    jobspec: text(spec?.jobspec),
    env: map(spec?.env),
    cwd: text(spec?.cwd),
    resources: map(spec?.resources),
    request: json(spec?.request),
    select: spec?.select === undefined ? undefined : toSelectRow(spec.select),
    placement: toPlacementRow(spec?.placement),
    array: text(spec?.array),
    priority: spec?.priority ?? 0,
    retries: toRetriesRow(spec?.retries),
    timeLimitMs: time(spec?.timeLimitMs),
    killGraceMs: time(spec?.killGraceMs),
    queueDeadlineMs: time(spec?.queueDeadlineMs),
    outputLimitBytes: time(spec?.outputLimitBytes),
    dependsOn:
      spec === undefined || spec.dependsOn.length === 0
        ? undefined
        : spec.dependsOn.map(toDependencyRow),
  });
}

const toSelectRow = ({ strategy, options, parameters }: Selection): Rows.SelectRow =>
  compact<Rows.SelectRow>({
    strategy: text(strategy),
    options: json(options),
    parameters: map(
      Object.fromEntries(
        Object.entries(parameters).map(([name, { value }]) => [name, value.value ?? ""]),
      ),
    ),
  });

const toDependencyRow = ({ kind, on, atLeast, name }: Dependency): Rows.DependencyRow =>
  compact<Rows.DependencyRow>({
    kind,
    on: on.length === 0 ? undefined : [...on],
    atLeast: atLeast === 0 ? undefined : atLeast,
    name: text(name),
  });

function toPlacementRow(placement: JobSpec["placement"]): Rows.PlacementRow | undefined {
  const row = compact<Rows.PlacementRow>({
    kind: text(placement?.kind),
    cluster: text(placement?.cluster),
    node: text(placement?.node),
    labels: map(placement?.labels),
  });
  return Object.keys(row).length === 0 ? undefined : row;
}

function toRetriesRow(retries: JobSpec["retries"]): Rows.RetriesRow | undefined {
  if (retries === undefined || retries.max === 0) return undefined;
  return compact<Rows.RetriesRow>({
    max: retries.max,
    backoffMs: time(retries.backoffMs),
    backoffMaxMs: time(retries.backoffMaxMs),
  });
}

export function toTaskRow(task: Task): Rows.TaskRow {
  return compact<Rows.TaskRow>({
    id: task.id,
    jobId: task.jobId,
    index: task.index,
    state: stateName(task.state),
    attempt: task.attempt,
    node: text(task.node),
    cluster: text(task.cluster),
    assignedAtMs: time(task.assignedAtMs),
    startedAtMs: time(task.startedAtMs),
    endedAtMs: time(task.endedAtMs),
    exitCode: task.exitCode,
    signal: text(task.signal),
    reason: text(task.reason),
    notBeforeMs: time(task.notBeforeMs),
    past: task.past.length === 0 ? undefined : task.past.map(toPastRow),
    usage: toUsageRow(task.usage),
  });
}

const toPastRow = (past: PastAttempt): Rows.PastRow =>
  compact<Rows.PastRow>({
    attempt: past.attempt,
    node: text(past.node),
    cluster: text(past.cluster),
    startedAtMs: time(past.startedAtMs),
    endedAtMs: time(past.endedAtMs),
    exitCode: past.exitCode,
    signal: text(past.signal),
    reason: text(past.reason),
    usage: toUsageRow(past.usage),
  });

export const toSubmittedRow = (job: SubmittedJob): Rows.SubmittedRow =>
  compact<Rows.SubmittedRow>({
    id: job.id,
    name: text(job.name),
    existed: job.existed ? true : undefined,
    warning: text(job.warning),
  });

export const toCountRow = (counts: CountJobsResponse): Rows.CountRow => ({
  jobs: numbers(counts.jobs),
  tasks: toCounts(counts.tasks),
  revision: Number(counts.revision),
});

export const toExplanationRow = (explanation: Explanation): Rows.ExplanationRow => ({
  jobId: explanation.jobId,
  state: stateName(explanation.state),
  summary: explanation.summary,
  ...toPlacesRow(explanation),
  ahead: Number(explanation.ahead),
  nodes: explanation.nodes,
  dependencies: explanation.dependencies.map(({ jobId, name, state, wants, met, impossible }) => ({
    jobId,
    name,
    state,
    wants,
    met,
    impossible,
  })),
});

const toPlacesRow = ({
  reasons,
  clusters,
  hints,
  cheapestChange,
}: Pick<Explanation, "reasons" | "clusters" | "hints" | "cheapestChange">): Rows.PlacesRow => ({
  reasons: reasons.map(({ reason, nodes, never, examples }) => ({
    reason,
    nodes,
    never,
    examples: [...examples],
  })),
  clusters: clusters.map((each) => ({
    cluster: each.cluster,
    kind: each.kind,
    verdict: each.verdict,
    reasons: [...each.reasons],
  })),
  hints: [...hints],
  ...(cheapestChange === "" ? {} : { cheapestChange }),
});

export const toTrialRow = (job: TriedJob): Rows.TrialRow => ({
  name: job.name,
  tasks: Number(job.tasks),
  placements: job.placements.map(({ index, cluster, node }) => ({
    index,
    cluster,
    ...(node === "" ? {} : { node }),
  })),
  waiting: Number(job.waiting),
  untried: Number(job.untried),
  possible: job.possible,
  ...(job.reason === "" ? {} : { reason: job.reason }),
  ...toPlacesRow(job),
});

export const toNodeRow = (node: Node): Rows.NodeRow =>
  compact<Rows.NodeRow>({
    name: node.name,
    cluster: node.cluster,
    state: node.state,
    capacity: { ...node.capacity },
    used: { ...node.used },
    labels: map(node.labels),
    tasks: node.tasks,
    held: node.held || undefined,
    heldMax: node.heldMax || undefined,
    taskMsMean: node.taskMsMean || undefined,
    connectedAtMs: time(node.connectedAtMs),
    disconnectedAtMs: time(node.disconnectedAtMs),
    drainReason: text(node.drainReason),
    sickness: text(node.sickness),
    sickAtMs: time(node.sickAtMs),
    quarantine: text(node.quarantine),
    quarantinedAtMs: time(node.quarantinedAtMs),
    probeAtMs: time(node.probeAtMs),
    onLost: text(node.onLost),
    lostAfterMs: time(node.lostAfterMs),
    clockOffsetMs: time(node.clockOffsetMs),
    agentVersion: text(node.agentVersion),
    address: text(node.address),
    isClusterAgent: node.isClusterAgent ? true : undefined,
    facts: node.factsJson === "" ? undefined : (JSON.parse(node.factsJson) as NodeFacts),
    revision: Number(node.revision),
  });

export const toGroupRow = (group: Group): Rows.GroupRow =>
  compact<Rows.GroupRow>({
    name: group.name,
    weight: group.weight,
    owner: text(group.owner),
    runningTasksMax: time(group.runningTasksMax),
    queuedTasksMax: time(group.queuedTasksMax),
    tasks: toCounts(group.tasks),
    used: { ...group.used },
    usage: toUsageRow(group.usage),
  });

export const toStatsRow = (stats: Stats): Rows.StatsRow => ({
  version: stats.version,
  store: stats.store,
  revision: Number(stats.revision),
  uptimeMs: Number(stats.uptimeMs),
  jobs: numbers(stats.jobs),
  tasks: toCounts(stats.tasks),
  nodes: numbers(stats.nodes),
  capacity: { ...stats.capacity },
  used: { ...stats.used },
  watches: Number(stats.watches),
  agentSessions: Number(stats.agentSessions),
  memoryBytes: Number(stats.memoryBytes),
  commits: Number(stats.commits),
  commitMsMean: stats.commitMsMean,
  commitMsMax: stats.commitMsMax,
  placements: Number(stats.placements),
  tasksEnded: Number(stats.tasksEnded),
  heldBegun: Number(stats.heldBegun),
  heldReturned: Number(stats.heldReturned),
  usage: toUsageRow(stats.usage) ?? {},
});

/** Undefined for an event this version has not heard of. */
export function toEventRow({
  revision: at,
  event,
}: Pick<WatchEvent, "revision" | "event">): Rows.EventRow | undefined {
  const revision = Number(at);
  switch (event.case) {
    case "bookmark": // for whoever resumes; there is nothing to show
    case "batch": // the client yields its events one by one
      return undefined;
    case "sync":
      return { revision, kind: "sync" };
    case "job":
      return { revision, kind: "job", job: toJobRow(event.value) };
    case "task":
      return { revision, kind: "task", task: toTaskRow(event.value) };
    case "node":
      return { revision, kind: "node", node: toNodeRow(event.value) };
    case "group":
      return { revision, kind: "group", group: toGroupRow(event.value) };
    case "removed":
      return { revision, kind: "removed", removed: { kind: event.value.kind, id: event.value.id } };
    case undefined:
      return undefined;
  }
}

/** All states, also those with no task: readers can rely on every key. */
const toCounts = (counts: TaskCounts | undefined): Rows.TaskCountsRow =>
  Object.fromEntries(
    stateNames.map((name) => [name, Number(counts?.[name] ?? 0n)]),
  ) as Rows.TaskCountsRow;

const numbers = (counts: Readonly<Record<string, bigint>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([key, value]) => [key, Number(value)]));

const text = (value: string | undefined): string | undefined => (value === "" ? undefined : value);

/** What a server of another version writes differently is shown as it is. */
function json(value: string | undefined): unknown {
  if (value === undefined || value === "") return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const time = (value: bigint | undefined): number | undefined =>
  value === undefined || value === 0n ? undefined : Number(value);

const map = <Value>(
  value: Readonly<Record<string, Value>> | undefined,
): Readonly<Record<string, Value>> | undefined =>
  value === undefined || Object.keys(value).length === 0 ? undefined : { ...value };

/** Every field of the row must be named, so that a new one cannot be forgotten. */
function compact<Row extends object>(fields: {
  [Key in keyof Required<Row>]: Row[Key] | undefined;
}): Row {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Row;
}
