import { COUNTER_RULES, COUNTERS_RULE, VALUES_RULE } from "../../core/graph/cluster-state.ts";
import { SUBSYSTEM_NAME_RULE } from "../../core/graph/subsystems/subsystem.ts";
import { SECRET_RULE } from "../../core/model/credential.ts";
import { GROUP_RULES } from "../../core/model/group.ts";
import {
  JOB_ID_RULE,
  NAME_RULE,
  REVISION_RULE,
  SERVICE_NAME_RULE,
  TASK_ID_RULE,
} from "../../core/model/ids.ts";
import { SPEC_MESSAGE_RULES, SPEC_RULES } from "../../core/model/job/spec-rules.ts";
import { PERCENT_RULE, PROGRESS_MESSAGE_RULE } from "../../core/model/job/task-progress.ts";
import {
  REPORT_RULES,
  TASK_LIST_RULE,
  TASKS_AT_ONCE_RULE,
} from "../../core/model/job/task-report.ts";
import {
  INSTANCE_NAMES_RULE,
  ROLLOUT_RULES,
  SERVICE_RULES,
} from "../../core/model/service/service.ts";
import { SET_NODE_RULES } from "../../core/model/node/node.ts";
import { SORT_RULE, TIME_RULE } from "../../core/state/jobs/job-order.ts";
import { LABELS_RULE, REASON_RULE, valueRule } from "../../core/model/texts.ts";
import type { MessageRules, Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import { OFFSET_RULE } from "../../server/operations/output.ts";
import { PAGES } from "../../server/views/paging.ts";
import { jobStateNames, nodeStateNames } from "./state-names.ts";

const fields = (rules: Readonly<Record<string, Rule>>): MessageRules => ({ fields: rules });

const kind: Rule = { enum: ["managed", "pulling"] };
const idempotencyKey = valueRule(limits.idempotencyKeyLengthMax);
const progress: Readonly<Record<string, Rule>> = {
  percent: PERCENT_RULE,
  message: PROGRESS_MESSAGE_RULE,
};
const states: Rule = { items: { enum: jobStateNames } };

/** Changes that may require a certain revision of a row. */
const CONDITIONAL = [
  "RegisterClusterRequest",
  "DeleteClusterRequest",
  "AddSubsystemRequest",
  "RemoveSubsystemRequest",
  "SetClusterStateRequest",
  "CancelJobRequest",
  "HoldJobRequest",
  "ReleaseJobRequest",
  "RequeueJobRequest",
  "UpdateJobRequest",
  "RerunJobRequest",
  "DrainNodeRequest",
  "UndrainNodeRequest",
  "SetNodeRequest",
  "RemoveNodeRequest",
  "PutGroupRequest",
  "RemoveGroupRequest",
  "ApplyServiceRequest",
  "ScaleServiceRequest",
  "RollbackServiceRequest",
  "RemoveServiceRequest",
] as const;

const RULES: Readonly<Record<string, MessageRules>> = {
  ...Object.fromEntries(
    Object.entries(SPEC_MESSAGE_RULES).map(([name, rules]) => [`busbar.v1.${name}`, rules]),
  ),
  "busbar.v1.JobSubmission": fields({ idempotencyKey }),
  "busbar.v1.SubmitJobsRequest": fields({
    jobs: { required: true, minItems: 1, maxItems: limits.submitJobsMax },
  }),
  "busbar.v1.GetJobRequest": fields({ id: JOB_ID_RULE }),
  "busbar.v1.GetTaskRequest": fields({ id: TASK_ID_RULE }),
  "busbar.v1.CancelJobRequest": fields({ id: TASK_ID_RULE, reason: REASON_RULE }),
  "busbar.v1.HoldJobRequest": fields({ id: TASK_ID_RULE, reason: REASON_RULE }),
  "busbar.v1.ReleaseJobRequest": fields({ id: TASK_ID_RULE }),
  "busbar.v1.RequeueJobRequest": fields({ id: TASK_ID_RULE, reason: REASON_RULE }),
  "busbar.v1.UpdateJobRequest": fields({
    id: JOB_ID_RULE,
    priority: SPEC_RULES.priority,
    timeLimitMs: { ...SPEC_RULES.timeLimitMs, minimum: 0 },
    group: NAME_RULE,
  }),
  "busbar.v1.RerunJobRequest": fields({ id: JOB_ID_RULE, idempotencyKey }),
  "busbar.v1.ReportProgressRequest": fields({
    id: TASK_ID_RULE,
    ...progress,
    attempt: { minimum: 1 },
  }),
  "busbar.v1.Progress": fields(progress),
  "busbar.v1.SubmitJobspecRequest": fields({
    group: NAME_RULE,
    labels: LABELS_RULE,
    priority: SPEC_RULES.priority,
    idempotencyKey,
  }),
  "busbar.v1.JobFilter": fields({
    states,
    submittedFromMs: TIME_RULE,
    submittedBeforeMs: TIME_RULE,
  }),
  "busbar.v1.ListJobsRequest": fields({ ...PAGES.jobs.rules, sort: SORT_RULE }),
  "busbar.v1.ListTasksRequest": fields({ ...PAGES.tasks.rules, jobId: JOB_ID_RULE }),
  "busbar.v1.ListNodesRequest": fields({ ...PAGES.nodes.rules, state: { enum: nodeStateNames } }),
  "busbar.v1.ReadOutputRequest": fields({ taskId: TASK_ID_RULE, offset: OFFSET_RULE }),
  "busbar.v1.WatchRequest": fields({ afterRevision: REVISION_RULE, jobId: TASK_ID_RULE }),
  "busbar.v1.Job": fields({ state: { enum: jobStateNames } }),
  "busbar.v1.Explanation": fields({ state: { enum: jobStateNames } }),
  "busbar.v1.ClusterReason": fields({ kind, verdict: { enum: ["now", "later", "never"] } }),
  "busbar.v1.Node": fields({
    state: { enum: nodeStateNames },
    facts: { type: "object" },
    onLost: { enum: ["keep", "fail"] },
  }),
  "busbar.v1.SetNodeRequest": fields(SET_NODE_RULES),
  "busbar.v1.GetNodeRequest": fields({ name: NAME_RULE }),
  "busbar.v1.PutGroupRequest": fields({ name: NAME_RULE, ...GROUP_RULES }),
  "busbar.v1.GetServiceRequest": fields({ name: SERVICE_NAME_RULE }),
  "busbar.v1.GetInstanceRequest": fields({ name: NAME_RULE }),
  "busbar.v1.ListServicesRequest": fields(PAGES.services.rules),
  "busbar.v1.ListInstancesRequest": fields(PAGES.instances.rules),
  "busbar.v1.Service": fields({ state: { enum: ["done", "rolling", "stopped", "removing"] } }),
  "busbar.v1.RolloutTerms": fields(ROLLOUT_RULES),
  "busbar.v1.ApplyServiceRequest": fields({ name: SERVICE_NAME_RULE, ...SERVICE_RULES }),
  "busbar.v1.ScaleServiceRequest": fields(SERVICE_RULES),
  "busbar.v1.RollbackServiceRequest": fields({ generation: { minimum: 1 } }),
  "busbar.v1.RemoveServiceRequest": fields({ reason: REASON_RULE }),
  "busbar.v1.AddInstancesRequest": fields({ names: { required: true, ...INSTANCE_NAMES_RULE } }),
  "busbar.v1.RemoveInstancesRequest": fields({
    names: { required: true, ...INSTANCE_NAMES_RULE },
    reason: REASON_RULE,
  }),
  "busbar.v1.Cluster": fields({ kind }),
  "busbar.v1.ClusterAnswer": fields({ kind }),
  "busbar.v1.StateCounter": fields(COUNTER_RULES),
  "busbar.v1.RegisterClusterRequest": fields({ name: NAME_RULE, graph: { type: "object" } }),
  "busbar.v1.AddSubsystemRequest": fields({ name: SUBSYSTEM_NAME_RULE }),
  "busbar.v1.SetClusterStateRequest": fields({ values: VALUES_RULE }),
  "busbar.v1.SetCredentialsRequest": fields({ registerSecret: SECRET_RULE }),
  "busbar.v1.ClusterCredentials": fields({
    name: NAME_RULE,
    secret: SECRET_RULE,
    token: SECRET_RULE,
  }),
  "busbar.v1.GetClusterRequest": fields({ name: NAME_RULE }),
  "busbar.v1.SatisfyRequest": fields({ request: SPEC_RULES.request }),
  "busbar.v1.ListOfferedTasksRequest": fields({ max: TASKS_AT_ONCE_RULE }),
  "busbar.v1.AcceptTasksRequest": fields({
    ids: { required: true, ...TASK_LIST_RULE, items: TASK_ID_RULE },
  }),
  "busbar.v1.StateCounters": fields({ counters: { required: true, ...COUNTERS_RULE } }),
  "busbar.v1.ReportTasksRequest": fields({ reports: { required: true, ...TASK_LIST_RULE } }),
  "busbar.v1.TaskReport": {
    fields: { ...REPORT_RULES, ...progress },
    together: { message: ["percent"] },
  },
};

/** The core's rules by the message and field of the wire that they apply to. Documents show them; the core checks them. */
export const FIELD_RULES: Readonly<Record<string, MessageRules>> = {
  ...RULES,
  ...Object.fromEntries(
    CONDITIONAL.map((message) => {
      const name = `busbar.v1.${message}`;
      const { fields: others = {}, ...more } = RULES[name] ?? {};
      return [name, { ...more, fields: { ...others, ifRevision: REVISION_RULE } }];
    }),
  ),
};
