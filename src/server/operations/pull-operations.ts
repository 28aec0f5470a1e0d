import { clusterId, formatTaskId, parseTaskId, type TaskRef } from "../../core/model/ids.ts";
import type { Task } from "../../core/model/job/task.ts";
import { checkProgress, type ReportedProgress } from "../../core/model/job/task-progress.ts";
import type { RunEvent, TaskEvent } from "../../core/state/command.ts";
import { requireCluster } from "../../core/state/decide/clusters.ts";
import { whyKeptBack } from "../../core/state/decide/tasks/kept-back.ts";
import type { State } from "../../core/state/state.ts";
import {
  REPORT_RULES,
  TASK_LIST_RULE,
  TASKS_AT_ONCE_RULE,
} from "../../core/model/job/task-report.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { AppError, invalid, unprocessable } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import type { CallerOperations, TaskReportInput } from "./operations.ts";
import { showSpec } from "../views/show.ts";
import type { OfferedTaskView } from "../views/views.ts";

type PullOperations = Pick<CallerOperations, "listOffered" | "acceptTasks" | "reportTasks">;

/** Pull clusters accept tasks, run them by themselves, and report them. */
export function createPullOperations({ loop, clock }: OperationContext): PullOperations {
  return {
    async listOffered(_caller, cluster, max = limits.offeredPageDefault, isWanted) {
      checkRule(max, "max", TASKS_AT_ONCE_RULE);
      return loop.read((state, revision) => {
        const offered = offeredTo(state, cluster);
        const tasks: OfferedTaskView[] = [];
        let [looks, keptBack] = [0, 0];
        for (const task of offered) {
          if (tasks.length >= max || keptBack >= limits.keptBackLooksMax) break;
          if (whyKeptBack(state, task) !== undefined) {
            keptBack++;
            continue;
          }
          if (looks++ >= limits.offeredLookedAtMax) break;
          if (isWanted?.(nameOf(state, task)) === false) continue;
          tasks.push(viewOffered(state, task));
        }
        return { tasks, total: offered.size, revision };
      });
    },

    async acceptTasks(_caller, cluster, ids) {
      checkRule(ids, "ids", TASK_LIST_RULE);
      const tasks = loop.peek((state) => ids.map((id, at) => toRef(state, id, `ids[${at}]`)));
      const command = { kind: "accept-tasks", cluster: clusterId(cluster), tasks } as const;
      const { accepted, refused } = await loop.submit({ ...command, nowMs: clock.nowMs() });
      // With the ids that the caller wrote, so that it finds each answer in its request.
      const names = new Map(tasks.map((task, at) => [task, ids[at] ?? ""]));
      const nameOf = (task: TaskRef): string => names.get(task) ?? "";
      return {
        accepted: accepted.map(nameOf),
        refused: refused.map(({ task, reason }) => ({ id: nameOf(task), reason })),
        revision: loop.revision,
      };
    },

    async reportTasks(_caller, cluster, reports) {
      checkRule(reports, "reports", TASK_LIST_RULE);
      const nowMs = clock.nowMs();
      const names = new Map<TaskRef, string>();
      const events = loop.peek((state) =>
        reports.map((report, at) => {
          const event = toEvent(state, report, `reports[${at}]`, nowMs);
          names.set(event.task, report.id);
          return event;
        }),
      );
      const command = { kind: "report-tasks", cluster: clusterId(cluster), events } as const;
      const { unwanted } = await loop.submit({ ...command, nowMs });
      return {
        unwanted: unwanted.map((task) => names.get(task) ?? ""),
        revision: loop.revision,
      };
    },
  };
}

function offeredTo(state: State, cluster: string): ReadonlySet<Task> {
  const { id, kind } = requireCluster(state, clusterId(cluster));
  if (kind === "pulling") return state.clusters.loads.offeredTo(id);
  throw new AppError("conflict", `cluster ${id} has agents on its nodes: nothing is offered to it`);
}

const nameOf = ({ jobs }: State, { jobId, index }: Task): string =>
  formatTaskId(jobId, index, jobs.get(jobId)?.job.spec.array !== undefined);

function viewOffered(state: State, task: Task): OfferedTaskView {
  const job = state.jobs.get(task.jobId)?.job;
  if (job === undefined || task.state.kind !== "offered") {
    throw new AppError("internal", `task ${task.jobId}.${task.index} is not offered`);
  }
  const { spec } = job;
  return {
    id: formatTaskId(job.id, task.index, spec.array !== undefined),
    attempt: task.attempt,
    name: spec.name,
    jobspec: spec.work.kind === "jobspec" ? spec.work.text : undefined,
    get spec() {
      return showSpec(spec);
    },
    offeredAtMs: task.state.offeredAtMs,
  };
}

function toRef(state: State, id: string, field: string): TaskRef {
  const { jobId, index } = parseTaskId(id, field);
  if (index === undefined && state.jobs.get(jobId)?.job.spec.array !== undefined) {
    throw unprocessable(field, `job ${id} is an array; name its tasks`);
  }
  return { jobId, index: index ?? 0 };
}

function toEvent(state: State, report: TaskReportInput, field: string, nowMs: number): TaskEvent {
  for (const name of CHECKED) {
    const value = report[name];
    if (value !== undefined) checkRule(value, `${field}.${name}`, REPORT_RULES[name]);
  }
  const task = toRef(state, report.id, `${field}.id`);
  const { attempt, startedAtMs } = report;
  if (report.state === "running") {
    const at = { startedAtMs: startedAtMs ?? nowMs };
    return { kind: "started", task, attempt, ...at, ...toProgress(report, field) };
  }
  if (report.state === "returned") return { kind: "returned", task, attempt };
  return {
    kind: "ended",
    task,
    attempt,
    startedAtMs,
    endedAtMs: report.endedAtMs ?? nowMs,
    outcome: toOutcome(report, field),
    ...toOutput(report),
    ...toProgress(report, field),
  };
}

function toProgress(
  { percent, message = "" }: TaskReportInput,
  field: string,
): { readonly progress?: ReportedProgress } {
  if (percent !== undefined) return { progress: checkProgress(percent, message, `${field}.`) };
  if (message === "") return {};
  throw invalid(`${field}.message`, "describes progress, and needs percent beside it");
}

/** Checks the fields that `toRef` does not check. */
const CHECKED = ["attempt", "state", "startedAtMs", "endedAtMs", "exitCode", "signal"] as const;

function toOutcome(
  { state, exitCode = 1, signal, timeLimit }: TaskReportInput,
  field: string,
): (RunEvent & { kind: "ended" })["outcome"] {
  if (state === "succeeded") return { kind: "succeeded" };
  if (timeLimit === true) return { kind: "time-limit" };
  if (signal !== undefined) return { kind: "signalled", signal };
  if (exitCode === 0) throw unprocessable(`${field}.exitCode`, "must be from 1 to 255, not 0");
  return { kind: "exited", exitCode };
}

const toOutput = ({ stdout = "", stderr = "" }: TaskReportInput) =>
  stdout === "" && stderr === "" ? {} : { output: { stdout, stderr } };
