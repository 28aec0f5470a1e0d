import { nameOf } from "../../core/access/principal.ts";
import type { Texts } from "../../core/model/job/job.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import { shareTemplate } from "../../core/model/job/workload/template-terms.ts";
import { readWorkload, type WorkloadDefinition } from "../../core/model/job/workload/workload.ts";
import { type JobStateName, TASK_STATES, type TaskStateName } from "../../core/model/progress.ts";
import { ResourceStatus } from "../../gen/rik/v1/common_pb.ts";
import { RecentMap } from "../../lib/collections/recent-map.ts";
import { limits } from "../../limits.ts";
import type { SubmissionInput } from "../../server/operations/operations.ts";
import type { InstanceView } from "../../server/services/service-views.ts";
import type { JobView, TaskView } from "../../server/views/views.ts";
import type { JobBrief } from "../../server/watch/job-brief.ts";

/** Labels that identify jobs as instances, and their owners. */
export const DOOR_LABEL = { "rik.door": "instance" };
export const CONTROLLER_LABEL = "rik.controller";
export const WORKLOAD_LABEL = "rik.workload";
/** The owner of rik's controllers without a credential, when the server requires none. */
export const ANYBODY = "anybody";
/** The same for other programs, like scripts: rik's controller exits at the status of an instance that it does not know. */
export const OTHERS = "others";
/** The owners of instances that a REST user of this name sees beside its own. */
export const controllersOf = (name: string | undefined): readonly string[] =>
  name === undefined ? [ANYBODY, OTHERS] : [name];

/** The owner of REST users' instances: no controller receives their statuses. */
const REST = "rest";
export const restOf = (name: string | undefined): string =>
  name === undefined ? REST : `${REST}:${name}`;
/** The name that was passed to `restOf`. */
export const restName = (owner: string): string | undefined =>
  owner === REST ? undefined : owner.slice(REST.length + 1);
export const isRest = (controller: string): boolean =>
  controller === REST || controller.startsWith(`${REST}:`);
/** The submitter of jobs that this door made for a controller, or for a REST user. */
export function submitterOf(controller: string): string {
  const name = isRest(controller) ? restName(controller) : controller;
  const isNamed = name !== undefined && name !== ANYBODY && name !== OTHERS;
  return nameOf({ kind: "rik", ...(isNamed ? { name } : {}) });
}
/** Names with a meaning here. */
export const RESERVED: ReadonlySet<string> = new Set([ANYBODY, OTHERS, REST]);

/** The identity of an instance in rik. */
export interface RikInstanceInput {
  readonly controller: string;
  readonly workloadId: string;
  readonly id: string;
  /** The definition of its workload, as it was sent. */
  readonly definition: string;
}

/** The template of all instances of a workload. Throws when its definition is invalid. */
export function toTemplate({
  controller,
  workloadId,
  definition,
}: Omit<RikInstanceInput, "id">): JobSpecInput & { readonly labels: Texts } {
  const { requests, restart = "never" } = readWorkload(definition);
  return {
    workload: definition,
    // No end of its own; without a policy a failed instance is not restarted, as in rik. An instance that takes worker after worker down
    // with it fails in the end.
    service: { restart },
    ...(Object.keys(requests).length === 0 ? {} : { resources: requests }),
    labels: { ...DOOR_LABEL, [CONTROLLER_LABEL]: controller, [WORKLOAD_LABEL]: workloadId },
  };
}

/** Templates by their workload's definition, then by controller and workload. */
const templates = new WeakMap<WorkloadDefinition, RecentMap<string, JobSpecInput>>();

/** The same object for the same workload: controllers schedule many instances of one. */
function sharedTemplate(workload: Omit<RikInstanceInput, "id">): JobSpecInput {
  const { controller, workloadId, definition } = workload;
  const read = readWorkload(definition);
  let known = templates.get(read);
  if (known === undefined) {
    known = new RecentMap(limits.rikTemplatesMax);
    templates.set(read, known);
  }
  const key = `${controller.length} ${controller} ${workloadId}`;
  let template = known.get(key);
  if (template === undefined) {
    template = shareTemplate(toTemplate(workload));
    known.set(key, template);
  }
  return template;
}

export const toSubmission = ({ id, ...workload }: RikInstanceInput): SubmissionInput => ({
  spec: { ...sharedTemplate(workload), name: id },
});

/** The status of an instance, and its reason. */
export interface RikInstanceState {
  readonly status: ResourceStatus;
  /** For people; empty: the status is sufficient. */
  readonly reason: string;
  readonly node?: string | undefined;
}

const OF_TASK: Readonly<Record<TaskStateName, ResourceStatus>> = {
  pending: ResourceStatus.PENDING,
  waiting: ResourceStatus.PENDING,
  offered: ResourceStatus.PENDING,
  accepted: ResourceStatus.CREATING,
  held: ResourceStatus.PENDING,
  assigned: ResourceStatus.CREATING,
  running: ResourceStatus.RUNNING,
  stopping: ResourceStatus.DESTROYING,
  succeeded: ResourceStatus.TERMINATED,
  failed: ResourceStatus.FAILED,
  cancelled: ResourceStatus.TERMINATED,
  expired: ResourceStatus.FAILED,
  skipped: ResourceStatus.FAILED,
};

/** States of jobs that have ended; the others follow from their tasks. */
const ENDS: ReadonlySet<JobStateName> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
]);

export function stateOfTask({ state, reason, node, past }: TaskView): RikInstanceState {
  const isAgain = state === "waiting" || state === "assigned";
  const last = isAgain ? past.at(-1) : undefined;
  // A restarting instance has failed until then; one that was lost with its worker has not.
  const isLost = last === undefined || /^(lost|vanished|its node)\b/.test(last.reason);
  const hasFailed = state === "waiting" && !isLost;
  const status = hasFailed ? ResourceStatus.FAILED : OF_TASK[state];
  return { status, reason: reason ?? last?.reason ?? ownEnd(state), node: nodeOf(status, node) };
}

/** A pending instance is on no worker, whichever it was on before. */
const nodeOf = (status: ResourceStatus, node: string | undefined): string | undefined =>
  status === ResourceStatus.PENDING ? undefined : node;

/** For an instance that nobody ended and that did not fail. */
const ownEnd = (state: TaskStateName): string =>
  state === "succeeded" ? "it ended by itself" : "";

/** Of a slot of a service. */
export const stateOfInstance = ({ state, reason, node }: InstanceView): RikInstanceState => ({
  status: OF_TASK[state],
  reason: reason ?? ownEnd(state),
  node: nodeOf(OF_TASK[state], node),
});

export const hasEnded = ({ state }: Pick<JobView, "state">): boolean => ENDS.has(state);

/** For a job with one task, without the data of its task. */
export function stateOfJob({ tasks, reason = "", node }: Brief): RikInstanceState {
  const state = TASK_STATES.find((name) => tasks[name] > 0);
  const status = state === undefined ? ResourceStatus.PENDING : OF_TASK[state];
  return { status, reason, node: nodeOf(status, node) };
}

type Brief = Pick<JobBrief, "tasks" | "reason" | "node">;

/** The text of InstanceMetric: rik's own scheduler sends the first of these, without braces. */
export function toMetrics(workloadId: string, { reason, node }: RikInstanceState): string {
  const parts = [`"workload_id": ${JSON.stringify(workloadId)}`];
  if (node !== undefined) parts.push(`"node": ${JSON.stringify(node)}`);
  if (reason !== "") parts.push(`"reason": ${JSON.stringify(reason)}`);
  return parts.join(", ");
}

const TEXTS: Readonly<Record<number, string>> = {
  [ResourceStatus.PENDING]: "Pending",
  [ResourceStatus.RUNNING]: "Running",
  [ResourceStatus.FAILED]: "Failed",
  [ResourceStatus.TERMINATED]: "Terminated",
  [ResourceStatus.CREATING]: "Creating",
  [ResourceStatus.DESTROYING]: "Destroying",
};

/** As rik's REST API writes it. */
export const statusText = (status: ResourceStatus): string => TEXTS[status] ?? "Pending";
