import type { RunReport } from "../ports/executor.ts";
import type { Clock } from "../ports/clock.ts";
import { steadyMs } from "../ports/clock.ts";

/**
 * Converts an executor's report to the agent's steady clock as it arrives. Executors report times by the
 * clock of the system, of a scheduler or of another machine. Each of them may be wrong or be set during a
 * run, but the duration of a run is reliable. So the start is as long ago as that clock says, but not
 * before the executor received the run, and the end is the start plus the duration.
 */
export function toSteadyTimes(
  report: RunReport,
  clock: Clock,
  known: {
    /** When the executor received the run; undefined: in an earlier process of the agent. */
    readonly receivedMs?: number | undefined;
    /** Its start, if it is known already. */
    readonly startedMs?: number | undefined;
  },
): RunReport {
  const nowMs = steadyMs(clock);
  const systemMs = clock.nowMs();
  const moment = (atMs: number): number =>
    Math.max(nowMs - Math.max(0, systemMs - atMs), known.receivedMs ?? Number.NEGATIVE_INFINITY);
  if (report.kind === "running") {
    return { ...report, startedAtMs: known.startedMs ?? moment(report.startedAtMs) };
  }
  const endedMs = moment(report.endedAtMs);
  if (report.startedAtMs === undefined) return { ...report, endedAtMs: endedMs };
  const tookMs = Math.max(0, report.endedAtMs - report.startedAtMs);
  const earliestMs = known.receivedMs ?? Number.NEGATIVE_INFINITY;
  const startedAtMs = known.startedMs ?? Math.max(endedMs - tookMs, earliestMs);
  return { ...report, startedAtMs, endedAtMs: Math.min(startedAtMs + tookMs, nowMs) };
}

/** The same report with its times by another clock. */
export const shifted = (report: RunReport, at: (momentMs: number) => number): RunReport =>
  report.kind === "running"
    ? { ...report, startedAtMs: at(report.startedAtMs) }
    : {
        ...report,
        startedAtMs: report.startedAtMs === undefined ? undefined : at(report.startedAtMs),
        endedAtMs: at(report.endedAtMs),
      };

/** The report of a run that was stopped before its executor received it. */
export const stoppedBeforeStart = (endedAtMs: number): RunReport => ({
  kind: "ended",
  startedAtMs: undefined,
  endedAtMs,
  end: { kind: "stopped", signal: undefined },
});
