import type { Task } from "../../../model/job/task.ts";
import { advance } from "../../../model/job/task-progress.ts";
import type {
  Answers,
  CommandOf,
  Decision,
  ProgressOutcome,
  ProgressReport,
} from "../../command.ts";
import type { State } from "../../state.ts";

/**
 * Records the progress of attempts. Only a report about the current attempt, from the agent of its
 * node, and while it runs, has an effect.
 */
export function reportProgress(
  state: State,
  { reports, nowMs }: CommandOf<"report-progress">,
): Decision<Answers["report-progress"]> {
  const moved = new Map<string, Task>();
  const outcomes: ProgressOutcome[] = [];
  for (const report of reports) {
    const { run, progress: reported } = report;
    const key = `${run.jobId}.${run.index}`;
    const task = moved.get(key) ?? state.task(run);
    const standing = standingOf(task, report);
    if (standing !== "current" || task === undefined) {
      outcomes.push(standing === "early" ? "early" : "late");
      continue;
    }
    const progress = advance(task.progress, reported, nowMs);
    outcomes.push(progress === undefined ? "known" : "taken");
    if (progress !== undefined) moved.set(key, { ...heard(task, nowMs), progress });
  }
  const changes = Array.from(moved.values(), (row) => ({ table: "task", row }) as const);
  return { changes, answer: { outcomes } };
}

/** Whether the report is about the running attempt, about one that will run, or about neither. */
export function standingOf(
  task: Task | undefined,
  { run, nodeId }: Pick<ProgressReport, "run" | "nodeId">,
): "current" | "early" | "late" {
  if (task?.attempt !== run.attempt) return "late";
  const { state } = task;
  if (nodeId !== undefined && (!("nodeId" in state) || state.nodeId !== nodeId)) return "late";
  switch (state.kind) {
    case "running":
    case "accepted":
      return "current";
    case "held":
    case "assigned":
      return "early";
    // Its end brings its last progress.
    case "stopping":
    case "waiting":
    case "offered":
    case "succeeded":
    case "failed":
    case "cancelled":
      return "late";
  }
}

/** Progress of a task that a cluster runs is a sign of life, and proves that it has started. */
function heard(task: Task, nowMs: number): Task {
  if (task.state.kind !== "accepted") return task;
  const startedAtMs = task.state.startedAtMs ?? nowMs;
  return { ...task, state: { ...task.state, startedAtMs, heardAtMs: nowMs } };
}
