import { parseTaskId } from "../../core/model/ids.ts";
import { fromResources } from "../../core/model/resources.ts";
import type { State } from "../../core/state/state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DocumentReader } from "../../ports/document-reader.ts";
import type { Random } from "../../ports/random.ts";
import type { PlanPolicy } from "../../core/scheduler/plan.ts";
import { createSubmitOperations } from "./submit-operations.ts";
import type { AgentSessions } from "../sessions/agent-sessions.ts";
import { createClusterOperations } from "./cluster-operations.ts";
import type { ProgressBoard } from "../progress/progress-board.ts";
import { createServiceOperations } from "../services/service-operations.ts";
import type { ControlLoop } from "../loop/control-loop.ts";
import { createPullOperations } from "./pull-operations.ts";
import { createCredentialOperations } from "../credentials/credential-operations.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { createJobChangeOperations } from "./jobs/job-changes.ts";
import { createJobOperations } from "./job-operations.ts";
import { createNewestTasksOperation } from "../views/newest-tasks.ts";
import { createProgressOperation } from "../progress/report-progress.ts";
import { createDoorRecordOperations } from "../notes/door-record-operations.ts";
import { createNoteOperations } from "../notes/note-operations.ts";
import { createNodeOperations } from "./node-operations.ts";
import type { CallerOperations, OperationsAccess } from "./operations.ts";
import { guardOperations } from "./operations-access.ts";
import { createAttachOperation } from "../attach/attach-operation.ts";
import { readOutput } from "./output.ts";
import { createSatisfyOperation } from "./satisfy-operation.ts";
import { showUsage } from "../views/show.ts";
import type { StatsView } from "../views/views.ts";
import { toWatchFilter, toWatchRevision } from "../watch/watch-filter.ts";
import type { WatchHub } from "../watch/watch-hub.ts";

/** Dependencies of all operations. */
export interface OperationContext {
  readonly loop: ControlLoop;
  readonly hub: WatchHub;
  readonly sessions: AgentSessions;
  readonly progressBoard: ProgressBoard;
  readonly clock: Clock;
  readonly policy: PlanPolicy;
  readonly random: Random;
  readonly credentials: Credentials;
  readonly reader: DocumentReader;
  readonly version: string;
  readonly store: string;
  readonly backup: () => AsyncIterable<Uint8Array>;
}

/** Creates all operations, behind the checks of permissions. */
export const createOperations = (context: OperationContext): OperationsAccess =>
  guardOperations(createAll(context), {
    submitterOf: (id) =>
      context.loop.peek((state) => state.jobs.get(parseTaskId(id, "id").jobId)?.job.submittedBy),
  });

function createAll(context: OperationContext): CallerOperations {
  const { loop } = context;
  const startedAtMs = context.clock.nowMs();
  return {
    ...createJobOperations(context),
    ...createJobChangeOperations(context),
    ...createProgressOperation(context),
    ...createNewestTasksOperation(context),
    ...createSubmitOperations(context),
    ...createNodeOperations(context),
    ...createNoteOperations(context),
    ...createDoorRecordOperations(context),
    ...createServiceOperations(context),
    ...createClusterOperations(context),
    ...createPullOperations(context),
    ...createCredentialOperations(context),
    ...createSatisfyOperation(context),
    readOutput: (_caller, query, signal) => readOutput(context, query, signal),
    attach: createAttachOperation(context),
    readOutputStart: (_caller, query, bytesMax, signal) =>
      readOutput(context, query, signal, bytesMax),
    watch: (_caller, query, to) =>
      context.hub.open({
        after: toWatchRevision(query.afterRevision),
        filter: toWatchFilter(query),
        ...to,
      }),
    follow: (_caller, hear) => context.hub.follow(hear),
    stats: () =>
      loop.read((state, revision) => ({
        ...stateStats(state),
        ...serverStats(context, startedAtMs),
        revision,
      })),
    async *backup() {
      for await (const data of context.backup()) yield { data };
    },
    times: async () => loop.metrics.times,
    isReady: () => !loop.isBroken,
  };
}

function stateStats(
  state: State,
): Pick<StatsView, "jobs" | "tasks" | "nodes" | "capacity" | "used"> {
  const { states, capacity, used } = state.nodeTotals;
  return {
    jobs: { ...state.totals.jobs },
    tasks: { ...state.totals.tasks },
    nodes: { ...states },
    capacity: fromResources(capacity),
    used: fromResources(used),
  };
}

function serverStats(
  { loop, hub, sessions, progressBoard, clock, version, store }: OperationContext,
  startedAtMs: number,
): Omit<StatsView, "jobs" | "tasks" | "nodes" | "capacity" | "used" | "revision"> {
  const { commits, commitMsSum, commitMsMax, placements, tasksEnded, usage } = loop.metrics;
  const { heldBegun, heldReturned, placementsRefused } = loop.metrics;
  return {
    version,
    store,
    uptimeMs: clock.nowMs() - startedAtMs,
    watches: hub.watchers,
    agentSessions: sessions.count,
    memoryBytes: process.memoryUsage.rss(),
    commits,
    commitMsMean: commits === 0 ? 0 : commitMsSum / commits,
    commitMsMax,
    commitMsP99: loop.metrics.commitMsP99,
    placements,
    placementsRefused,
    progressReports: { ...progressBoard.counts },
    tasksEnded,
    heldBegun,
    heldReturned,
    usage: showUsage(usage) ?? {},
  };
}
