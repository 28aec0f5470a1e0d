import { checkProgress } from "../../core/model/job/task-progress.ts";
import type { ProgressOutcome, RunRef } from "../../core/state/command.ts";
import { taskStateName } from "../../core/model/progress.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import type { OperationContext } from "../operations/create-operations.ts";
import { requireTask, viewTask } from "../operations/job-operations.ts";
import type { CallerOperations } from "../operations/operations.ts";
import type { TaskView } from "../views/views.ts";

/** Callers report the progress of an attempt: coalesced with reports of agents, and answered when it is durable. */
export function createProgressOperation({
  loop,
  progressBoard,
}: OperationContext): Pick<CallerOperations, "reportProgress"> {
  const view = (id: string): Promise<TaskView> =>
    loop.read((state) => {
      const { record, index } = requireTask(state, id);
      return viewTask(state, record, index);
    });
  return {
    async reportProgress(_caller, id, { percent, message = "", attempt }) {
      const progress = checkProgress(percent, message);
      if (attempt !== undefined && !(attempt >= 1)) throw invalid("attempt", "must be from 1");
      const run = await loop.read((state): RunRef => {
        const { record, index } = requireTask(state, id);
        const current = record.task(index)?.attempt ?? 0;
        return { jobId: record.job.id, index, attempt: attempt ?? current };
      });
      const outcome = await progressBoard.report({ run, progress });
      if (outcome === "late" || outcome === "early") {
        throw new AppError("conflict", await whyNot(outcome, run, id));
      }
      return view(id);
    },
  };

  function whyNot(outcome: ProgressOutcome, run: RunRef, id: string): Promise<string> {
    return loop.read((state) => {
      const { record, index } = requireTask(state, id);
      const task = record.task(index);
      if (task !== undefined && task.attempt !== run.attempt) {
        return `attempt ${run.attempt} of task ${id} is not its current one, which is ${task.attempt}`;
      }
      const name = taskStateName(record.job, task?.state);
      const why =
        outcome === "early" ? "it has not started yet" : "only a running task reports progress";
      return `task ${id} is ${name}: ${why}`;
    });
  }
}
