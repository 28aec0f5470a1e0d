import { formatArray } from "../../core/model/job/array-range.ts";
import type { Group } from "../../core/model/group.ts";
import { formatTaskId } from "../../core/model/ids.ts";
import type { ContainerTerms } from "../../core/model/job/containers/containers.ts";
import type { Job, JobSpec, SelectTerms, Where } from "../../core/model/job/job.ts";
import { hasIndexes, taskTotalOf } from "../../core/model/job/job.ts";
import { plainTermsOf } from "../../core/model/job/plain-fields.ts";
import type { Node } from "../../core/model/node/node.ts";
import { lossPolicyOf, lostAfterMsOf, mayHold, nodeStateName } from "../../core/model/node/node.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { fromResources } from "../../core/model/resources.ts";
import type { TaskProgress } from "../../core/model/job/task-progress.ts";
import type { TaskFailure, PastAttempt, Task } from "../../core/model/job/task.ts";
import { describeFailure } from "../../core/model/job/task.ts";
import { describeRestart } from "../../core/model/service/describe-restart.ts";
import type { Usage } from "../../core/model/job/usage.ts";
import type { GroupRecord } from "../../core/scheduler/queue/group-record.ts";
import type { Progress } from "../../core/model/progress.ts";
import {
  endOf,
  isJobEnded,
  percentOf,
  taskStateName,
  taskTotalIn,
} from "../../core/model/progress.ts";
import { SIGNAL_NUMBERS } from "../../lib/signal-numbers.ts";
import type { RunTimes } from "../../core/scheduler/nodes/run-times.ts";
import type { NodeLoad } from "../loop/open-batch.ts";
import { queueReason, showChanges } from "./not-placed.ts";
import { energyPercent, showEnergy, showPower, showShare } from "./show-energy.ts";
import type {
  GroupView,
  JobSpecView,
  JobView,
  NodeView,
  PastAttemptView,
  ProgressView,
  TaskView,
  UsageView,
} from "./views.ts";

/** Leaves out undefined and empty fields, so that answers are short. */
function present<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: Record<string, unknown> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined && !isEmpty(value)) result[name] = value;
  }
  return result as { [K in keyof T]: Exclude<T[K], undefined> };
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _ in value) return false;
  return true;
}

export function showSpec(spec: JobSpec): JobSpecView {
  const { work, where, array, retries } = spec;
  return {
    name: spec.name,
    group: spec.group,
    resources: fromResources(spec.needs),
    priority: spec.priority,
    killGraceMs: spec.killGraceMs,
    outputLimitBytes: spec.outputLimitBytes,
    ...showWork(work),
    ...present({
      labels: spec.labels,
      env: spec.env,
      cwd: spec.cwd,
      ...plainTermsOf(spec.terms),
      ...(spec.container && showContainers(spec.container)),
      placement: showPlacement(where),
      array: array && formatArray({ array, tasksAtOnce: spec.tasksAtOnce }),
      retries: retries.max === 0 ? undefined : retries,
      timeLimitMs: spec.timeLimitMs,
      queueDeadlineMs: spec.queueDeadlineMs,
      dependsOn: spec.dependsOn,
      request: spec.request,
      select: spec.select === undefined ? undefined : showSelect(spec.select),
      energy: spec.energy,
      service: spec.service,
    }),
  };
}

function showWork(work: JobSpec["work"]): object {
  if (work.kind === "command") return present({ command: work.argv });
  const args = work.kind === "script" ? present({ args: work.args }) : {};
  return { [work.kind]: work.text, ...args };
}

/** As submitted, without requirements that follow from other fields: clients do not know these. */
const showPlacement = ({ kind, cluster, node, labels }: Where): JobSpecView["placement"] =>
  present({ kind, cluster, node, labels });

function showContainers({ image, containers, mounts, network }: ContainerTerms) {
  return {
    image,
    mounts: mounts.map(({ writable, ...paths }) => (writable ? { ...paths, writable } : paths)),
    containers: containers.map(({ name, image, ...own }) => ({ name, image, ...present(own) })),
    network: network === "host" ? undefined : network,
  };
}

/** Leaves out absent fields, as in the written spec. */
const showSelect = ({ strategy, options, parameters }: SelectTerms): JobSpecView["select"] => ({
  ...(strategy === undefined ? {} : { strategy, options }),
  parameters,
});

/** `only`: the row of the only task of a job without array, for its exit code and reason. */
export function showJob(
  job: Job,
  progress: Progress,
  extra: { readonly only: Task | undefined; readonly pendingReason?: string; revision: number },
): JobView {
  const ended = isJobEnded(progress);
  const failure: Outcome = extra.only === undefined ? {} : outcomeOf(extra.only);
  const reason = reasonOf(job, extra.only) ?? extra.pendingReason;
  return {
    id: String(job.id),
    spec: showSpec(job.spec),
    state: progress.state,
    tasks: progress.counts,
    taskTotal: taskTotalIn(job.spec, progress),
    submittedAtMs: job.submittedAtMs,
    submittedBy: job.submittedBy,
    ...present({
      cancelledBy: job.closed?.kind === "cancelled" ? job.closed.by : undefined,
      ...showChanges(job, taskTotalIn(job.spec, progress)),
      startedAtMs: progress.startedAtMs,
      endedAtMs: ended ? endOf(job, progress) : undefined,
      idempotencyKey: job.idempotencyKey,
      reason,
      exitCode: ended ? exitCodeOf(job, progress, failure) : undefined,
      usage: showUsage(progress.usage),
      progress: showJobProgress(job, progress, extra.only),
      energy: showEnergy(job.spec, progress),
      instance: job.instance,
      restarts: shownRestarts(extra.only),
    }),
    revision: extra.revision,
  };
}

/** `only`: as in `showJob`. */
export const reasonOf = ({ closed }: Job, only: Task | undefined): string | undefined =>
  closed?.reason ?? (only && (outcomeOf(only).reason ?? describeRestart(only)));

/** undefined: it was never restarted. */
const shownRestarts = (task: Task | undefined): number | undefined =>
  task?.restarts === undefined || task.restarts.count === 0 ? undefined : task.restarts.count;

/** undefined: none of its tasks reported progress. */
function showJobProgress(
  { spec }: Job,
  progress: Progress,
  only: Task | undefined,
): ProgressView | undefined {
  if (spec.energy !== undefined) return { percent: energyPercent(spec.energy, progress) };
  if (progress.tasksWithProgress === 0) return undefined;
  return { ...showProgress(only?.progress), percent: percentOf(progress, taskTotalOf(spec)) };
}

/** undefined: none was reported. */
function showProgress(progress: TaskProgress | undefined): ProgressView | undefined {
  if (progress === undefined) return undefined;
  const { percent, message, atMs } = progress;
  return {
    percent,
    ...(message === "" ? {} : { message }),
    ...(atMs === undefined ? {} : { reportedAtMs: atMs }),
  };
}

/** undefined: unknown. */
export function showUsage(usage: Usage | undefined): UsageView | undefined {
  if (usage === undefined) return undefined;
  const { cpuUs, wallUs, maxRssKib, majorFaults } = usage;
  return {
    ...(cpuUs === undefined ? {} : { cpuMs: cpuUs / 1_000 }),
    ...(wallUs === undefined ? {} : { wallMs: wallUs / 1_000 }),
    ...(maxRssKib === undefined ? {} : { maxRssBytes: maxRssKib * 1_024 }),
    ...(majorFaults === undefined ? {} : { majorFaults }),
  };
}

/** undefined: no process exited with one. */
function exitCodeOf(
  { closed, spec }: Job,
  progress: Progress,
  { exitCode, signal }: { readonly exitCode?: number; readonly signal?: string },
): number | undefined {
  if (progress.state === "succeeded") return 0;
  if (progress.state === "skipped" && closed?.isNeedless === true) return 0;
  if (progress.state !== "failed") return undefined;
  if (spec.array !== undefined || spec.energy !== undefined) return 1;
  return signal === undefined ? exitCode : 128 + (SIGNAL_NUMBERS[signal] ?? 0);
}

interface Outcome {
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason?: string;
}

function outcomeOf({ state }: Task): Outcome {
  switch (state.kind) {
    case "succeeded":
      return { exitCode: 0 };
    case "failed":
      return failureOutcome(state.failure);
    case "cancelled":
    case "stopping":
      return { reason: state.reason };
    case "waiting":
    case "offered":
    case "held":
    case "accepted":
    case "assigned":
    case "running":
      return {};
  }
}

/** An attempt that did not exit by itself has the code that a shell or timeout(1) would return. */
function failureOutcome(failure: TaskFailure): Outcome & { readonly reason: string } {
  const reason = describeFailure(failure);
  switch (failure.kind) {
    case "exited":
      return failure.message === undefined ? { reason, exitCode: failure.exitCode } : { reason };
    case "signalled":
      return { reason, signal: failure.signal };
    case "time-limit":
      return { reason, exitCode: 124 };
    case "out-of-memory":
      return { reason, signal: "SIGKILL" };
    case "could-not-start":
      return { reason, exitCode: 127 };
    case "node-fault":
    case "vanished":
    case "lost":
    case "requeued":
      return { reason };
  }
}

const showPast = ({
  attempt,
  nodeId,
  cluster,
  startedAtMs,
  endedAtMs,
  failure,
  usage,
}: PastAttempt): PastAttemptView => ({
  attempt,
  endedAtMs,
  ...present({ node: nodeId, cluster, startedAtMs, usage: showUsage(usage) }),
  ...failureOutcome(failure),
});

function assignedAtMs(state: Task["state"]): number | undefined {
  if (state.kind === "offered") return state.offeredAtMs;
  if (state.kind === "accepted") return state.acceptedAtMs;
  if (state.kind === "held") return state.heldAtMs;
  return "assignedAtMs" in state ? state.assignedAtMs : undefined;
}

const clusterOfState = (state: Task["state"]): string | undefined =>
  "cluster" in state ? state.cluster : undefined;

export function showTask(
  job: Job,
  index: number,
  { row: task, revision }: { readonly row: Task | undefined; readonly revision: number },
  clusterOf: (node: string) => string | undefined,
): TaskView {
  const jobId = String(job.id);
  const id = formatTaskId(job.id, index, hasIndexes(job.spec));
  const state = taskStateName(job, task?.state);
  const base = { id, jobId, index, state, attempt: task?.attempt ?? 0, revision };
  if (task === undefined) {
    return { ...base, past: [], ...present({ reason: queueReason(job, index) }) };
  }
  const at = task.state;
  const last = at.kind === "waiting" ? task.past.at(-1)?.nodeId : undefined;
  const node = "nodeId" in at ? at.nodeId : last;
  return {
    ...base,
    past: task.past.map(showPast),
    ...present({
      node,
      cluster: clusterOfState(at) ?? (node === undefined ? undefined : clusterOf(node)),
      assignedAtMs: assignedAtMs(at),
      startedAtMs: "startedAtMs" in at ? at.startedAtMs : undefined,
      endedAtMs: "endedAtMs" in at ? at.endedAtMs : undefined,
      notBeforeMs: at.kind === "waiting" ? at.notBeforeMs : undefined,
      failure: at.kind === "failed" ? at.failure.kind : undefined,
      usage: showUsage(task.usage),
      progress: showProgress(task.progress),
      share: showShare(task),
      restarts: shownRestarts(task),
    }),
    ...(at.kind !== "waiting"
      ? outcomeOf(task)
      : present({ reason: queueReason(job, index) ?? describeRestart(task) })),
  };
}

export function showNode(
  node: Node,
  load: NodeLoad,
  revision: number,
  facts?: NodeFacts,
): NodeView {
  return {
    name: node.id,
    cluster: node.cluster,
    state: nodeStateName(node, load.tasks + load.held),
    capacity: fromResources(node.capacity),
    used: fromResources(load.used),
    labels: node.labels,
    tasks: load.tasks,
    held: load.held,
    isClusterAgent: node.clusterAgent !== undefined,
    agentVersion: node.agentVersion,
    ...present({
      connectedAtMs: node.link.kind === "connected" ? node.link.sinceMs : undefined,
      disconnectedAtMs: node.link.kind === "connected" ? undefined : node.link.sinceMs,
      drainReason: node.drain?.reason,
      drainedBy: node.drain?.by,
      changedBy: node.changedBy,
      sickness: node.sickness?.reason,
      sickAtMs: node.sickness?.sinceMs,
      quarantine: node.quarantine?.reason,
      quarantinedAtMs: node.quarantine?.sinceMs,
      probeAtMs: probeAtMs(node),
      onLost: shownPolicy(node),
      lostAfterMs: lostAfterMsOf(node),
      clockOffsetMs: node.clockOffsetMs,
      ...showRunTimes(node, load.runTimes),
      address: node.address,
      power: node.power && showPower(node.power, load.used),
      facts,
    }),
    revision,
  };
}

function shownPolicy(node: Node): "keep" | "fail" | undefined {
  const policy = lossPolicyOf(node);
  return policy === "requeue" ? undefined : policy;
}

/** Only where tasks may be fetched ahead. */
function showRunTimes(
  node: Node,
  runTimes: RunTimes | undefined,
): Pick<NodeView, "heldMax" | "taskMsMean"> {
  if (runTimes === undefined || !mayHold(node)) return {};
  const heldMax = runTimes.depth(node.capacity);
  return heldMax === 0 ? {} : { heldMax, taskMsMean: Math.round(runTimes.meanMs * 10) / 10 };
}

function probeAtMs({ quarantine }: Node): number | undefined {
  return quarantine?.phase.kind === "closed" ? quarantine.phase.untilMs : undefined;
}

export const showGroupRow = (
  group: Group,
  revision: number,
): Omit<GroupView, "tasks" | "used"> => ({
  name: group.id,
  weight: group.weight,
  owner: group.owner,
  ...present({
    runningTasksMax: group.runningTasksMax,
    queuedTasksMax: group.queuedTasksMax,
    pausedBy: group.pausedBy,
    changedBy: group.changedBy,
  }),
  revision,
});

export function showGroup({ group, revision, tasks, used, usage }: GroupRecord): GroupView {
  const view = { ...showGroupRow(group, revision), tasks: { ...tasks }, used: fromResources(used) };
  const wasMeasured = usage.cpuUs + usage.wallUs > 0;
  return wasMeasured ? { ...view, ...present({ usage: showUsage(usage) }) } : view;
}
