import {
  DEPENDENCY_RULES,
  PLACEMENT_RULES,
  RETRIES_RULES,
  SPEC_GROUPS,
  SPEC_RULES,
} from "../../core/model/job/spec-rules.ts";
import { WEIGHT_RULE } from "../../core/model/group.ts";
import { JOB_ID_RULE, NAME_RULE, TASK_ID_RULE } from "../../core/model/ids.ts";
import { LABELS_RULE, PRINTABLE } from "../../core/model/texts.ts";
import type { MessageRules, Rule } from "../../lib/rules.ts";
import { limits } from "../../limits.ts";
import { jobStateNames, nodeStateNames } from "./state-names.ts";

const fields = (rules: Readonly<Record<string, Rule>>): MessageRules => ({ fields: rules });

const kind: Rule = { enum: ["managed", "pulling"] };
const page: Readonly<Record<string, Rule>> = {
  pageSize: { minimum: 1, maximum: limits.pageSizeMax },
  pageToken: { minLength: 1 },
};
const secret: Rule = { minLength: 1, maxLength: limits.secretLengthMax, pattern: PRINTABLE };
const states: Rule = { items: { enum: jobStateNames } };

/**
 * The core's rules by the message and field of the wire that they hold for. Documents show them; what
 * checks them is the core.
 */
export const FIELD_RULES: Readonly<Record<string, MessageRules>> = {
  "busbar.v1.JobSpec": { fields: SPEC_RULES, ...SPEC_GROUPS },
  "busbar.v1.Retries": fields(RETRIES_RULES),
  "busbar.v1.Placement": fields(PLACEMENT_RULES),
  "busbar.v1.Dependency": fields(DEPENDENCY_RULES),
  "busbar.v1.JobSubmission": fields({ idempotencyKey: { minLength: 1 } }),
  "busbar.v1.SubmitJobsRequest": fields({
    jobs: { required: true, maxItems: limits.submitJobsMax },
  }),
  "busbar.v1.GetJobRequest": fields({ id: JOB_ID_RULE }),
  "busbar.v1.GetTaskRequest": fields({ id: TASK_ID_RULE }),
  "busbar.v1.CancelJobRequest": fields({ id: TASK_ID_RULE }),
  "busbar.v1.SubmitJobspecRequest": fields({
    group: NAME_RULE,
    labels: LABELS_RULE,
    priority: SPEC_RULES.priority,
    idempotencyKey: { minLength: 1 },
  }),
  "busbar.v1.Selection": fields({ options: { type: "object" } }),
  "busbar.v1.JobFilter": fields({ states }),
  "busbar.v1.ListJobsRequest": fields(page),
  "busbar.v1.ListTasksRequest": fields(page),
  "busbar.v1.ListNodesRequest": fields({ ...page, state: { enum: nodeStateNames } }),
  "busbar.v1.ReadOutputRequest": fields({ offset: { minimum: 0 }, attempt: { minimum: 0 } }),
  "busbar.v1.WatchRequest": fields({ afterRevision: { minimum: 0 } }),
  "busbar.v1.Job": fields({ state: { enum: jobStateNames } }),
  "busbar.v1.Explanation": fields({ state: { enum: jobStateNames } }),
  "busbar.v1.ClusterReason": fields({ kind, verdict: { enum: ["now", "later", "never"] } }),
  "busbar.v1.Node": fields({
    state: { enum: nodeStateNames },
    facts: { type: "object" },
    onLost: { enum: ["keep", "fail"] },
  }),
  "busbar.v1.SetNodeRequest": fields({
    onLost: { enum: ["requeue", "keep", "fail", "agent"] },
    lostAfterMs: { minimum: 0, maximum: limits.durationMsMax },
  }),
  "busbar.v1.GetNodeRequest": fields({ name: NAME_RULE }),
  "busbar.v1.PutGroupRequest": fields({
    name: NAME_RULE,
    weight: WEIGHT_RULE,
    owner: { pattern: PRINTABLE },
    runningTasksMax: { minimum: 0 },
    queuedTasksMax: { minimum: 0 },
  }),
  "busbar.v1.Cluster": fields({ kind }),
  "busbar.v1.ClusterAnswer": fields({ kind }),
  "busbar.v1.StateCounter": fields({ by: { enum: ["nodes", "slots", "jobs"] } }),
  "busbar.v1.RegisterClusterRequest": fields({ name: NAME_RULE, graph: { type: "object" } }),
  "busbar.v1.SetCredentialsRequest": fields({ registerSecret: secret }),
  "busbar.v1.ClusterCredentials": fields({ name: NAME_RULE, secret, token: secret }),
  "busbar.v1.GetClusterRequest": fields({ name: NAME_RULE }),
  "busbar.v1.SatisfyRequest": fields({ request: { type: "array" } }),
  "busbar.v1.ListOfferedTasksRequest": fields({
    max: { minimum: 1, maximum: limits.offeredPageMax },
  }),
  "busbar.v1.AcceptTasksRequest": fields({
    ids: { required: true, minItems: 1, maxItems: limits.offeredPageMax, items: TASK_ID_RULE },
  }),
  "busbar.v1.StateCounters": fields({ counters: { required: true } }),
  "busbar.v1.ReportTasksRequest": fields({
    reports: { required: true, minItems: 1, maxItems: limits.offeredPageMax },
  }),
  "busbar.v1.TaskReport": fields({
    id: TASK_ID_RULE,
    startedAtMs: { minimum: 0 },
    endedAtMs: { minimum: 0 },
    state: { enum: ["running", "succeeded", "failed", "returned"] },
  }),
};
