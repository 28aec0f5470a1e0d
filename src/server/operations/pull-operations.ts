import { clusterId, formatTaskId, parseTaskId, type TaskRef } from "../../core/model/ids.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { RunEvent, TaskEvent } from "../../core/state/command.ts";
import { requireCluster } from "../../core/state/decide/clusters.ts";
import type { State } from "../../core/state/state.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { OperationContext } from "./create-operations.ts";
import type { CallerOperations, TaskReportInput } from "./operations.ts";
import { showSpec } from "../views/show.ts";
import type { OfferedTaskView } from "../views/views.ts";

type HandedOperations = Pick<CallerOperations, "listOffered" | "acceptTasks" | "reportTasks">;

/** How clusters that pull take tasks to run them by themselves, and tell of them. */
export function createHandedOperations({ loop, clock }: OperationContext): HandedOperations {
  return {
    async listOffered(_caller, cluster, max = limits.offeredPageDefault) {
      checkCount(max, "max");
      return loop.read((state, revision) => {
        const offered = offeredTo(state, cluster);
        const tasks: OfferedTaskView[] = [];
        for (const task of offered) {
          if (tasks.length >= max) break;
          tasks.push(viewOffered(state, task));
        }
        return { tasks, total: offered.size, revision };
      });
    },

    async acceptTasks(_caller, cluster, ids) {
      checkCount(ids.length, "ids");
      const tasks = loop.peek((state) => ids.map((id, at) => toRef(state, id, `ids[${at}]`)));
      const command = { kind: "accept-tasks", cluster: clusterId(cluster), tasks } as const;
      const { accepted, refused } = await loop.submit({ ...command, nowMs: clock.nowMs() });
      // As they were named: an answer must be found in the question.
      const names = new Map(tasks.map((task, at) => [task, ids[at] ?? ""]));
      const nameOf = (task: TaskRef): string => names.get(task) ?? "";
      return {
        accepted: accepted.map(nameOf),
        refused: refused.map(({ task, reason }) => ({ id: nameOf(task), reason })),
        revision: loop.revision,
      };
    },

    async reportTasks(_caller, cluster, reports) {
      checkCount(reports.length, "reports");
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

function viewOffered(state: State, task: Task): OfferedTaskView {
  const job = state.jobs.get(task.jobId)?.job;
  if (job === undefined || task.state.kind !== "offered") {
    throw new AppError("internal", `task ${task.jobId}.${task.index} is not offered`);
  }
  return {
    id: formatTaskId(job.id, task.index, job.spec.array !== undefined),
    attempt: task.attempt,
    spec: showSpec(job.spec),
    offeredAtMs: task.state.offeredAtMs,
  };
}

function toRef(state: State, id: string, field: string): TaskRef {
  const { jobId, index } = parseTaskId(id, field);
  if (index === undefined && state.jobs.get(jobId)?.job.spec.array !== undefined) {
    throw invalid(field, `job ${id} is an array; name its tasks`);
  }
  return { jobId, index: index ?? 0 };
}

function toEvent(state: State, report: TaskReportInput, field: string, nowMs: number): TaskEvent {
  const task = toRef(state, report.id, `${field}.id`);
  const { attempt } = report;
  const startedAtMs = toTime(report.startedAtMs, `${field}.startedAtMs`);
  if (report.state === "running") {
    return { kind: "started", task, attempt, startedAtMs: startedAtMs ?? nowMs };
  }
  if (report.state === "returned") return { kind: "returned", task, attempt };
  return {
    kind: "ended",
    task,
    attempt,
    startedAtMs,
    endedAtMs: toTime(report.endedAtMs, `${field}.endedAtMs`) ?? nowMs,
    outcome: toOutcome(report, field),
    ...toOutput(report),
  };
}

function toOutcome(
  { state, exitCode = 1, signal, timeLimit }: TaskReportInput,
  field: string,
): (RunEvent & { kind: "ended" })["outcome"] {
  if (state === "succeeded") return { kind: "succeeded" };
  if (state !== "failed") {
    const shown = JSON.stringify(state.slice(0, 40));
    throw invalid(`${field}.state`, `${shown} is not running, succeeded, failed or returned`);
  }
  if (timeLimit === true) return { kind: "time-limit" };
  if (signal !== undefined) {
    if (/^SIG[A-Z0-9+]{1,12}$/.test(signal)) return { kind: "signalled", signal };
    throw invalid(`${field}.signal`, "must be the name of a signal, like SIGKILL");
  }
  if (!Number.isInteger(exitCode) || exitCode < 1 || exitCode > 255) {
    throw invalid(`${field}.exitCode`, `must be from 1 to 255, not ${exitCode}`);
  }
  return { kind: "exited", exitCode };
}

const toOutput = ({ stdout = "", stderr = "" }: TaskReportInput) =>
  stdout === "" && stderr === "" ? {} : { output: { stdout, stderr } };

function toTime(ms: number | undefined, field: string): number | undefined {
  if (ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)) return ms;
  throw invalid(field, `${ms} is not a time in milliseconds`);
}

function checkCount(count: number, field: string): void {
  const most = limits.offeredPageMax;
  if (Number.isInteger(count) && count >= 1 && count <= most) return;
  throw invalid(field, `must be from 1 to ${most}, not ${count}`);
}
