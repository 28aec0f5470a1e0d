import type { Task } from "../../src/core/model/job/task.ts";
import { isEnded } from "../../src/core/model/job/task.ts";
import type { ReportedProgress } from "../../src/core/model/job/task-progress.ts";
import type { Verdict } from "./checkers.ts";
import type { RowMove, Run } from "./durable.ts";
import { formatRun } from "./durable.ts";

/** A progress report of a run, and its delay after the start. */
export interface Saying {
  readonly afterMs: number;
  readonly progress: ReportedProgress;
}

const numberOf = ({ jobId, index, attempt }: Run): number => jobId * 31 + index * 7 + attempt * 3;

/** It sometimes reports smaller numbers: the final progress is then unpredictable. */
export const isWavering = (run: Run): boolean => numberOf(run) % 5 === 0;

/** Depends on the run alone: nothing is drawn. Two of three report progress. */
export function sayingsOf(run: Run, tookMs: number): Saying[] {
  const number = numberOf(run);
  if (number % 3 === 0) return [];
  const count = 1 + (number % 6);
  return Array.from({ length: count }, (_, at) => {
    const steady = (100 * (at + 1)) / count;
    const percent = isWavering(run) && at % 2 === 1 ? steady / 2 : steady;
    const progress = { percent: Math.floor(percent), message: `step ${at + 1}` };
    return { afterMs: (tookMs * (at + 1)) / (count + 1), progress };
  });
}

/** Within an attempt the shown progress never decreases or disappears. */
export function progressGoesForward(moves: readonly RowMove<Task>[]): Verdict {
  for (const { before, after } of moves) {
    const known = before?.progress;
    if (known === undefined || after === undefined || after.attempt !== before?.attempt) continue;
    if (after.state.kind === "waiting") continue; // the attempt has failed
    const { percent = -1 } = after.progress ?? {};
    if (percent < known.percent) {
      return `${formatRun(after)} was at ${known.percent} % and is at ${percent} %`;
    }
  }
  return undefined;
}

/** A reported end includes the run's last progress. */
export function endsSayHowFar(
  lastWords: ReadonlyMap<string, ReportedProgress>,
  moves: readonly RowMove<Task>[],
): Verdict {
  for (const { before, after } of moves) {
    if (after === undefined || !isEndOfProcess(after)) continue;
    if (before !== undefined && isEnded(before.state)) continue;
    const last = lastWords.get(formatRun(after));
    if (last === undefined || isWavering(after)) continue;
    const { percent, message } = after.progress ?? {};
    if (percent !== last.percent || message !== last.message) {
      return `${formatRun(after)} ended at ${percent} % (${message}), and said ${last.percent} % (${last.message})`;
    }
  }
  return undefined;
}

const isEndOfProcess = ({ state }: Task): boolean =>
  state.kind === "succeeded" ||
  (state.kind === "failed" &&
    (state.failure.kind === "exited" || state.failure.kind === "signalled"));
