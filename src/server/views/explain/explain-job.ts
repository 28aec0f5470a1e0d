import { type JobId, parseTaskId } from "../../../core/model/ids.ts";
import { hasIndexes, type JobSpec } from "../../../core/model/job/job.ts";
import { describeFailure } from "../../../core/model/job/task.ts";
import { describeRestart } from "../../../core/model/service/describe-restart.ts";
import {
  cheapestChange,
  type SingleChange,
} from "../../../core/scheduler/explain/cheapest-change.ts";
import type { ClusterPolicy } from "../../../core/scheduler/clusters/choose-cluster.ts";
import type { PlanPolicy } from "../../../core/scheduler/plan.ts";
import {
  describeChange,
  describeClusterReasons,
  describeNodeReasons,
} from "../../../core/scheduler/explain/describe.ts";
import { hintsFor, type Outlook, outlook } from "../../../core/scheduler/explain/explain.ts";
import { NodeClasses } from "../../../core/scheduler/nodes/node-classes.ts";
import { type ClusterVerdict, clusterAnswers } from "../../../core/scheduler/explain/places.ts";
import { describeWaiting } from "../../../core/state/dependencies/describe.ts";
import { reasonsOf } from "../../../core/state/dependencies/reasons.ts";
import { estimatedEnd } from "../../../core/scheduler/power/estimated-end.ts";
import { unplacedOf } from "../../../core/model/energy-progress.ts";
import type { JobRecord } from "../../../core/state/jobs/job-record.ts";
import { isJobEnded } from "../../../core/model/progress.ts";
import type { State } from "../../../core/state/state.ts";
import { limits } from "../../../limits.ts";
import { explainAttached, type HasClient } from "../../attach/explain-attached.ts";
import { explainAssigned } from "./explain-assigned.ts";
import { explainAway } from "./explain-away.ts";
import { explainTaken } from "./explain-taken.ts";
import { describeAtMost, describePartlyHeld, hintAgainst, whyNotPlaced } from "../not-placed.ts";
import type { QueueReasons } from "../queue-reasons.ts";
import type { ClusterReasonView, ExplanationView } from "../views.ts";

/** Why tasks of a job are pending, and what would help. */
export function explainJob(
  state: State,
  record: JobRecord,
  policy: ClusterPolicy & Pick<PlanPolicy, "isEnergyExternal">,
  {
    queueReasons,
    hasClient = () => false,
    nowMs = 0,
  }: {
    readonly queueReasons?: QueueReasons;
    readonly hasClient?: HasClient;
    readonly nowMs?: number;
  } = {},
): ExplanationView {
  const { job, progress } = record;
  const base = {
    jobId: String(job.id),
    state: progress.state,
    nodes: state.nodes.size,
    dependencies: reasonsOf(state, job),
    reasons: [],
    clusters: [],
    hints: [],
    ahead: 0,
  };
  const kept = isJobEnded(progress) ? undefined : whyNotPlaced(state, record);
  if (kept !== undefined && isQueued(record)) {
    const hint = hintAgainst(state, record);
    const change = hint === undefined ? {} : { cheapestChange: hint };
    const hints = hint === undefined ? [] : [hint];
    return { ...base, summary: queuedSummary(record, kept), hints, ...change };
  }
  const hold = state.holds.get(job.id);
  if (hold !== undefined) {
    const summary = describeWaiting(state.jobs, state.holds, hold);
    const [first] = base.dependencies.filter(({ met }) => !met);
    const hints = first === undefined ? [] : [`see that job: busbar explain ${first.jobId}`];
    return { ...base, summary: `it ${summary}`, hints, ...changeForHeld(state, record, policy) };
  }
  const { pending, waiting } = progress.counts;
  if (pending + waiting === 0) {
    const where = isJobEnded(progress)
      ? undefined
      : (explainTaken(state, record) ?? explainAway(state, record));
    const below = queueReasons?.describe(record);
    const why = joined([where?.summary, below]) || settledSummary(record, nowMs);
    const attached = explainAttached(record, hasClient);
    const hints = [...(where?.hints ?? []), ...(attached?.hints ?? [])];
    return { ...base, hints, summary: joined([why, attached?.summary]) };
  }
  if (policy.isEnergyExternal === true && job.spec.energy !== undefined) {
    return { ...base, ...explainExternal(record) };
  }
  const restart = restartOf(record, nowMs);
  if (restart !== undefined) return { ...base, summary: `it ${restart}` };
  const places = explainPlaces(state, job.spec, policy);
  const ahead = aheadOf(state, record);
  const full = fullGroup(state, job.spec);
  if (full !== undefined) {
    const raise = `raise the limit: busbar groups set ${job.spec.group} --running-tasks-max N; or wait for a task of the group to end`;
    const cheapestChange = `none: it starts when a task of group ${job.spec.group} ends`;
    const hints = [...places.view.hints, raise];
    return { ...base, ...places.view, ahead, summary: full, hints, cheapestChange };
  }
  const summary = summaryOf(places, pending + waiting, waiting);
  const taken = progress.counts.held === 0 ? undefined : explainTaken(state, record);
  const text = joined([
    summary,
    describePartlyHeld(record),
    describeAtMost(record),
    taken?.summary,
    job.spec.energy && queueReasons?.describe(record), // a share of it may be queued at a site
    outlookOfEnergy(state, record, nowMs),
    explainAttached(record, hasClient)?.summary,
  ]);
  return { ...base, ...places.view, ahead, summary: text };
}

const joined = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined).join("; ");

/** The server does not assign it: it cannot know when the other scheduler will. */
const explainExternal = ({
  job,
  progress,
}: JobRecord): Pick<ExplanationView, "summary" | "hints"> => ({
  summary:
    `${unplacedOf(job, progress)} Ws are not assigned: an external scheduler assigns them, ` +
    "because the server runs with --nexus-external-scheduler",
  hints: [
    "check that the external scheduler runs; or restart the server without --nexus-external-scheduler",
  ],
});
/** Explains that a service waits for its next start; undefined: it does not, or the time has come. */
function restartOf(record: JobRecord, nowMs: number): string | undefined {
  if (record.job.spec.service === undefined) return undefined;
  const task = record.task(0);
  if (task?.state.kind !== "waiting" || task.state.notBeforeMs <= nowMs) return undefined;
  return describeRestart(task, nowMs);
}
const queuedSummary = ({ progress: { counts } }: JobRecord, why: string): string => {
  const queued = counts.pending + counts.waiting;
  return `${queued === 1 ? "1 task waits" : `${queued} tasks wait`}: ${why}`;
};

/** When the rest of its energy would be used, by the present power; undefined: no energy is left, or no node has power. */
function outlookOfEnergy(
  state: State,
  { job, progress }: JobRecord,
  nowMs: number,
): string | undefined {
  const left = unplacedOf(job, progress);
  if (job.spec.energy === undefined || left <= 0) return undefined;
  const endMs = estimatedEnd(state, job.spec, left, nowMs);
  if (endMs === undefined) return undefined;
  return `${left} Ws are not placed: with the present power they would be done at ${new Date(endMs).toISOString()}`;
}

/** The job whose placement explains this one, if any. */
export function queuedFor(state: State, record: JobRecord): JobRecord | undefined {
  const isHeld = state.holds.get(record.job.id) !== undefined;
  const first = isHeld ? firstOfChain(state, record) : record;
  return first !== undefined && isQueued(first) ? first : undefined;
}

const isQueued = ({ progress: { counts } }: JobRecord): boolean =>
  counts.pending + counts.waiting > 0;

/** Of jobs that depend on each other, the one that depends on no other. */
function firstOfChain(state: State, record: JobRecord): JobRecord | undefined {
  let first = record;
  for (let depth = 0; depth < limits.chainExplainedMax; depth++) {
    const unmet = reasonsOf(state, first.job).find(({ met }) => !met);
    const next = unmet && state.jobs.get(parseTaskId(unmet.jobId, "jobId").jobId);
    if (next === undefined) return undefined;
    first = next;
    if (state.holds.get(first.job.id) === undefined) break;
  }
  return first;
}

/** Its dependencies may themselves be pending: a change that helps the first of them helps all. */
function changeForHeld(
  state: State,
  record: JobRecord,
  policy: ClusterPolicy,
): Pick<ExplanationView, "cheapestChange"> {
  const first = firstOfChain(state, record);
  if (first === undefined) return {};
  const { job } = first;
  const named = `job ${job.id} (${job.spec.name})`;
  const change = isQueued(first) ? explainPlaces(state, job.spec, policy).cheapest : undefined;
  return {
    cheapestChange:
      change?.step === undefined || change.step.kind === "task-ends"
        ? `none: it waits for ${named}`
        : `of ${named}, on which it depends: ${describeChange(change)}`,
  };
}

function settledSummary(record: JobRecord, nowMs: number): string {
  const { job, progress } = record;
  if (isJobEnded(progress)) {
    const reason = job.closed?.reason ?? failureOf(record);
    return reason ?? "it has ended";
  }
  return explainAssigned(record, nowMs) ?? "every task is under way";
}

/** Why the only task of a job failed; undefined: it did not, or the job has many. */
function failureOf(record: JobRecord): string | undefined {
  if (hasIndexes(record.job.spec)) return undefined;
  const state = record.task(0)?.state;
  return state?.kind === "failed" ? describeFailure(state.failure) : undefined;
}

/** Undefined: it may run more tasks. */
export function fullGroup(state: State, { group: id }: JobSpec): string | undefined {
  const group = state.groups.get(id);
  const most = group?.group.runningTasksMax;
  if (group === undefined || most === undefined || group.activeTasks < most) return undefined;
  return `group ${id} is at its limit of ${most} running tasks`;
}

interface Places {
  readonly seen: Outlook;
  readonly answers: readonly ClusterVerdict[];
  readonly cheapest: SingleChange | undefined;
  readonly view: Pick<ExplanationView, "reasons" | "clusters" | "hints" | "cheapestChange">;
}

/** The answers of nodes and clusters to a job, and the change that would let a task of it start. */
export function explainPlaces(state: State, spec: JobSpec, policy: ClusterPolicy): Places {
  const nodes = new NodeClasses(state, spec);
  const seen = outlook(spec, nodes);
  const answers = clusterAnswers(state, spec, policy, nodes);
  const isReady = seen.now > 0 || answers.some(({ verdict }) => verdict === "yes");
  const cheapest = isReady ? undefined : cheapestChange(state, spec, policy, nodes);
  const view = {
    reasons: describeNodeReasons(seen.reasons),
    // For managed clusters the nodes have answered already.
    clusters: answers
      .filter(({ kind, verdict }) => kind === "pulling" || verdict === "yes")
      .slice(0, limits.clustersExplainedMax)
      .map(toClusterReason),
    hints: hintsFor(spec, seen),
    ...(cheapest === undefined ? {} : { cheapestChange: describeChange(cheapest) }),
  };
  return { seen, answers, cheapest, view };
}

const toClusterReason = ({
  cluster,
  kind,
  verdict,
  reasons,
}: ClusterVerdict): ClusterReasonView => ({
  cluster,
  kind,
  verdict: verdict === "yes" ? "now" : verdict === "not-now" ? "later" : "never",
  reasons: describeClusterReasons(reasons),
});

function summaryOf({ seen, answers }: Places, queued: number, waiting: number): string {
  const [tasks, one] = queued === 1 ? ["1 task waits", "it"] : [`${queued} tasks wait`, "one"];
  const pulling = answers.filter(({ kind }) => kind === "pulling");
  const could = (verdict: ClusterVerdict["verdict"]): number =>
    pulling.filter((answer) => answer.verdict === verdict).length;
  if (seen.nodes === 0 && pulling.length === 0) return `${tasks}: no node has joined yet`;
  const now = both(seen.now, could("yes"));
  if (now !== undefined && waiting > 0)
    return `${tasks}, ${waiting} of them until a backoff has passed`;
  if (now !== undefined) return `${tasks}: ${now} could run ${one} now, other tasks go first`;
  const later = both(seen.later, could("not-now"));
  if (later !== undefined) return `${tasks}: ${later} could run ${one} later`;
  const none = pulling.length === 0 ? "node" : seen.nodes === 0 ? "cluster" : "node or cluster";
  return `${tasks}: no registered ${none} can run ${one}`;
}

/** "2 nodes and 1 cluster"; undefined: none. */
function both(nodes: number, clusters: number): string | undefined {
  const parts = [
    ...(nodes > 0 ? [count(nodes, "node")] : []),
    ...(clusters > 0 ? [count(clusters, "cluster")] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(" and ");
}

const count = (many: number, noun: string): string => `${many} ${noun}${many === 1 ? "" : "s"}`;

/** Pending tasks of the same group that go first, looking at a bounded number of jobs. */
function aheadOf(state: State, record: JobRecord): number {
  const { group, priority } = record.job.spec;
  let ahead = 0;
  let looked = 0;
  const isFirst = (id: JobId, its: number): boolean =>
    its > priority || (its === priority && id < record.job.id);
  for (const id of state.jobOrder) {
    if (++looked > limits.listScanMax) break;
    const lane = state.jobs.foldedIn(id);
    if (lane !== undefined) {
      if (lane.group.group.id === group && isFirst(id, lane.priority)) ahead++;
      continue;
    }
    const other = state.jobs.getOpen(id);
    if (other?.job.spec.group !== group || !isFirst(id, other.job.spec.priority)) continue;
    if (state.holds.get(id) !== undefined) continue; // not in any queue
    ahead += other.progress.counts.pending + other.progress.counts.waiting;
  }
  return ahead;
}
