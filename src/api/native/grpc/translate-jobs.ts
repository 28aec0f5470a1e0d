import type { TaskCounts } from "../../../core/model/progress.ts";
import type * as wire from "../../../gen/busbar/v1/busbar_pb.ts";
import {
  ClusterReasonSchema,
  CountJobsResponseSchema,
  DependencyReasonSchema,
  ExplanationSchema,
  InstanceRefSchema,
  JobEnergySchema,
  JobSchema,
  JobSpecSchema,
  ListJobsResponseSchema,
  ListTasksResponseSchema,
  NodeReasonSchema,
  PastAttemptSchema,
  ProgressSchema,
  ShareSchema,
  SubmitJobsResponseSchema,
  SubmittedJobSchema,
  TaskCountsSchema,
  TaskSchema,
  TriedJobSchema,
  TriedTaskSchema,
  TryJobsResponseSchema,
  UsageSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type * as views from "../../../server/views/views.ts";
import { stateOf } from "../state-names.ts";
import { fromJson } from "../../../wire/read-json.ts";
import { message, wide, wideAll } from "../../grpc/calls/wire-message.ts";

// Converts answers of Operations about jobs and tasks to messages of the wire. A field that does not apply is absent.

type Answer<Name extends keyof Operations> = Operations[Name] extends (
  ...args: never
) => Promise<infer Value>
  ? Value
  : never;

export const toJob = (view: views.JobView): wire.Job =>
  message(JobSchema, {
    id: view.id,
    spec: toJobSpec(view.spec),
    state: stateOf[view.state],
    tasks: toCounts(view.tasks),
    taskTotal: wide(view.taskTotal),
    submittedAtMs: wide(view.submittedAtMs),
    startedAtMs: wide(view.startedAtMs),
    endedAtMs: wide(view.endedAtMs),
    submittedBy: view.submittedBy,
    cancelledBy: view.cancelledBy,
    heldBy: view.heldBy,
    heldTasks: wide(view.heldTasks),
    changedBy: view.changedBy,
    idempotencyKey: view.idempotencyKey,
    reason: view.reason,
    exitCode: view.exitCode,
    revision: wide(view.revision),
    usage: toUsage(view.usage),
    progress: toProgress(view.progress),
    energy:
      view.energy &&
      message(JobEnergySchema, {
        wattSeconds: wide(view.energy.wattSeconds),
        doneWattSeconds: wide(view.energy.doneWattSeconds),
        unplacedWattSeconds: wide(view.energy.unplacedWattSeconds),
      }),
    instance: view.instance && message(InstanceRefSchema, { ...view.instance }),
    restarts: view.restarts,
  });

/** The view of a spec is the JSON of the message: names and types are the same. */
export const toJobSpec = (view: views.JobSpecView): wire.JobSpec => fromJson(JobSpecSchema, view);

export const toCounts = (view: TaskCounts): wire.TaskCounts =>
  message(TaskCountsSchema, {
    pending: wide(view.pending),
    waiting: wide(view.waiting),
    offered: wide(view.offered),
    accepted: wide(view.accepted),
    held: wide(view.held),
    assigned: wide(view.assigned),
    running: wide(view.running),
    stopping: wide(view.stopping),
    succeeded: wide(view.succeeded),
    failed: wide(view.failed),
    cancelled: wide(view.cancelled),
    expired: wide(view.expired),
    skipped: wide(view.skipped),
  });

export const toTask = (view: views.TaskView): wire.Task =>
  message(TaskSchema, {
    id: view.id,
    jobId: view.jobId,
    index: view.index,
    state: stateOf[view.state],
    attempt: view.attempt,
    node: view.node,
    cluster: view.cluster,
    assignedAtMs: wide(view.assignedAtMs),
    startedAtMs: wide(view.startedAtMs),
    endedAtMs: wide(view.endedAtMs),
    exitCode: view.exitCode,
    signal: view.signal,
    reason: view.reason,
    notBeforeMs: wide(view.notBeforeMs),
    past: view.past.map(toPastAttempt),
    usage: toUsage(view.usage),
    failure: view.failure,
    share:
      view.share &&
      message(ShareSchema, {
        wattSeconds: wide(view.share.wattSeconds),
        doneWattSeconds: wide(view.share.doneWattSeconds),
      }),
    progress: toProgress(view.progress),
    restarts: view.restarts,
    revision: wide(view.revision),
  });

const toProgress = (view: views.ProgressView | undefined): wire.Progress | undefined =>
  view &&
  message(ProgressSchema, {
    percent: view.percent,
    message: view.message,
    reportedAtMs: wide(view.reportedAtMs),
  });

export const toUsage = (view: views.UsageView | undefined): wire.Usage | undefined =>
  view &&
  message(UsageSchema, {
    cpuMs: view.cpuMs,
    wallMs: view.wallMs,
    maxRssBytes: wide(view.maxRssBytes),
    majorFaults: wide(view.majorFaults),
  });

const toPastAttempt = (view: views.PastAttemptView): wire.PastAttempt =>
  message(PastAttemptSchema, {
    attempt: view.attempt,
    node: view.node,
    cluster: view.cluster,
    startedAtMs: wide(view.startedAtMs),
    endedAtMs: wide(view.endedAtMs),
    exitCode: view.exitCode,
    signal: view.signal,
    reason: view.reason,
    usage: toUsage(view.usage),
  });

export const toJobPage = (answer: Answer<"listJobs">): wire.ListJobsResponse =>
  message(ListJobsResponseSchema, {
    jobs: answer.jobs.map(toJob),
    nextPageToken: answer.nextPageToken,
    revision: wide(answer.revision),
  });

export const toTaskPage = (answer: Answer<"listTasks">): wire.ListTasksResponse =>
  message(ListTasksResponseSchema, {
    tasks: answer.tasks.map(toTask),
    nextPageToken: answer.nextPageToken,
    revision: wide(answer.revision),
  });

export const toCountsAnswer = (view: views.CountsView): wire.CountJobsResponse =>
  message(CountJobsResponseSchema, {
    jobs: wideAll(view.jobs),
    tasks: toCounts(view.tasks),
    revision: wide(view.revision),
  });

export const toExplanation = (view: views.ExplanationView): wire.Explanation =>
  message(ExplanationSchema, {
    jobId: view.jobId,
    state: stateOf[view.state],
    summary: view.summary,
    reasons: view.reasons.map(toNodeReason),
    hints: [...view.hints],
    ahead: wide(view.ahead),
    nodes: view.nodes,
    dependencies: view.dependencies.map((one) => message(DependencyReasonSchema, { ...one })),
    clusters: view.clusters.map(toClusterReason),
    cheapestChange: view.cheapestChange,
  });

const toClusterReason = (view: views.ClusterReasonView): wire.ClusterReason =>
  message(ClusterReasonSchema, {
    cluster: view.cluster,
    kind: view.kind,
    verdict: view.verdict,
    reasons: [...view.reasons],
  });

export const toSubmittedJobs = (
  answer: Answer<"submitJobspec"> | Answer<"rerunJob">,
): wire.SubmitJobsResponse =>
  message(SubmitJobsResponseSchema, {
    jobs: answer.jobs.map(({ id, existed, warning, ...job }) => {
      const name = "name" in job ? job.name : undefined;
      return message(SubmittedJobSchema, { id, existed, warning, name });
    }),
    revision: wide(answer.revision),
  });

export const toTried = (answer: Answer<"tryJobs">): wire.TryJobsResponse =>
  message(TryJobsResponseSchema, {
    jobs: answer.jobs.map(toTriedJob),
    revision: wide(answer.revision),
  });

const toTriedJob = (view: views.TriedJobView): wire.TriedJob =>
  message(TriedJobSchema, {
    name: view.name,
    tasks: wide(view.tasks),
    placements: view.placements.map(({ index, cluster, node }) =>
      message(TriedTaskSchema, { index, cluster, node }),
    ),
    waiting: wide(view.waiting),
    untried: wide(view.untried),
    possible: view.possible,
    reason: view.reason,
    reasons: view.reasons.map(toNodeReason),
    clusters: view.clusters.map(toClusterReason),
    hints: [...view.hints],
    cheapestChange: view.cheapestChange,
  });

const toNodeReason = (view: views.NodeReasonView): wire.NodeReason =>
  message(NodeReasonSchema, {
    reason: view.reason,
    nodes: view.nodes,
    never: view.never,
    examples: [...view.examples],
  });
