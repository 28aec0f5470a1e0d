import type { Task } from "../../core/model/job/task.ts";
import { noUsage, tallyUsage } from "../../core/model/job/usage.ts";
import { newUsage } from "../../core/state/jobs/progress.ts";

/** What a control loop has done since it began. */
export class LoopMetrics {
  commits = 0;
  commitMsSum = 0;
  commitMsMax = 0;
  placements = 0;
  tasksEnded = 0;
  heldBegun = 0;
  heldReturned = 0;
  readonly usage = noUsage();

  committed(tookMs: number): void {
    this.commits++;
    this.commitMsSum += tookMs;
    this.commitMsMax = Math.max(this.commitMsMax, tookMs);
  }

  taskMoved(before: Task | undefined, after: Task): void {
    if ("endedAtMs" in after.state) this.tasksEnded++;
    if (before?.state.kind === "held" && after.state.kind !== "held") {
      if (after.attempt < before.attempt) this.heldReturned++;
      else this.heldBegun++;
    }
    tallyUsage(this.usage, newUsage(before, after));
  }
}
