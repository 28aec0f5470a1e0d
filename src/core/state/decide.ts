import { unreachable } from "../../lib/invariant.ts";
import type { AnswerTo, Command, CommandOf, Decision } from "./command.ts";
import { assignShare } from "./decide/tasks/assign-share.ts";
import { cancelJob } from "./decide/tasks/cancel-job.ts";
import { holdJob } from "./decide/jobs/hold-job.ts";
import { requeueJob } from "./decide/jobs/requeue-job.ts";
import { rerunJob } from "./decide/jobs/rerun-job.ts";
import { updateJob } from "./decide/jobs/update-job.ts";
import {
  declareSoftware,
  putSubsystems,
  registerCluster,
  removeCluster,
  removeSubsystem,
  setStatus,
} from "./decide/clusters.ts";
import { claimCluster, setCredentials } from "./decide/credentials.ts";
import { putDoorRecords } from "./decide/door-records.ts";
import { putNotes } from "./decide/notes.ts";
import { putFacts } from "./decide/nodes/facts.ts";
import { putGroup, removeGroup } from "./decide/groups.ts";
import { acceptTasks, reportTasks } from "./decide/tasks/accepted-tasks.ts";
import { reportPower } from "./decide/nodes/power.ts";
import { reportClock, reportHealth } from "./decide/nodes/health.ts";
import {
  connectNode,
  disconnectNode,
  drainNode,
  removeNode,
  setNodeLoss,
} from "./decide/nodes/nodes.ts";
import { reportProgress } from "./decide/tasks/report-progress.ts";
import { reportRuns } from "./decide/tasks/report-runs.ts";
import { addInstances, removeInstances } from "./decide/services/instances.ts";
import {
  putService,
  removeService,
  rollbackService,
  scaleService,
} from "./decide/services/services.ts";
import { submitToChosen } from "./decide/tasks/submit-to-chosen.ts";
import { submitJobs } from "./decide/tasks/submit-jobs.ts";
import { takeTasks } from "./decide/tasks/take-tasks.ts";
import { recover, tick } from "./decide/tick.ts";
import type { State } from "./state.ts";

/** Reads the state, writes no row. Throws AppError when the command is rejected. */
export function decide<K extends Command["kind"]>(
  state: State,
  command: CommandOf<K>,
): Decision<AnswerTo<K>> {
  return decideAny(state, command) as Decision<AnswerTo<K>>;
}

function decideAny(state: State, command: Command): Decision {
  switch (command.kind) {
    case "submit-jobs":
      return submitJobs(state, command);
    case "submit-to-chosen":
      return submitToChosen(state, command);
    case "cancel-job":
      return cancelJob(state, command);
    case "assign-share":
      return assignShare(state, command);
    case "hold-job":
      return holdJob(state, command);
    case "update-job":
      return updateJob(state, command);
    case "requeue-job":
      return requeueJob(state, command);
    case "rerun-job":
      return rerunJob(state, command);
    case "put-group":
      return putGroup(state, command);
    case "put-service":
      return putService(state, command);
    case "scale-service":
      return scaleService(state, command);
    case "rollback-service":
      return rollbackService(state, command);
    case "remove-service":
      return removeService(state, command);
    case "add-instances":
      return addInstances(state, command);
    case "remove-instances":
      return removeInstances(state, command);
    case "put-notes":
      return putNotes(state, command);
    case "put-door-records":
      return putDoorRecords(state, command);
    case "remove-group":
      return removeGroup(state, command);
    case "connect-node":
      return connectNode(state, command);
    case "disconnect-node":
      return disconnectNode(state, command);
    case "report-runs":
      return reportRuns(state, command);
    case "report-progress":
      return reportProgress(state, command);
    case "report-health":
      return reportHealth(state, command);
    case "report-clock":
      return reportClock(state, command);
    case "report-power":
      return reportPower(state, command);
    case "drain-node":
      return drainNode(state, command);
    case "set-node-loss":
      return setNodeLoss(state, command);
    case "put-facts":
      return putFacts(state, command);
    case "take-tasks":
      return takeTasks(state, command);
    case "accept-tasks":
      return acceptTasks(state, command);
    case "report-tasks":
      return reportTasks(state, command);
    case "remove-node":
      return removeNode(state, command);
    case "register-cluster":
      return registerCluster(state, command);
    case "remove-cluster":
      return removeCluster(state, command);
    case "put-subsystems":
      return putSubsystems(state, command);
    case "declare-software":
      return declareSoftware(state, command);
    case "remove-subsystem":
      return removeSubsystem(state, command);
    case "set-status":
      return setStatus(state, command);
    case "claim-cluster":
      return claimCluster(state, command);
    case "set-credentials":
      return setCredentials(state, command);
    case "tick":
      return tick(state, command);
    case "recover":
      return recover(state, command);
    default:
      return unreachable(command);
  }
}
