import type { Usage } from "../../../core/model/job/usage.ts";
import { limits } from "../../../limits.ts";
import type { RunEnd, RunId, RunReport } from "../../../ports/executor.ts";
import type { ProcessIdentity } from "../../proc.ts";

/** What must be known to look after a run, also for an agent that did not start it. */
export interface RunTerms {
  readonly program: string; // for messages
  readonly startedAtMs: number;
  readonly timeLimitMs: number | undefined;
  readonly killGraceMs: number;
  readonly outputLimitBytes: number;
  /** It works in a directory that this agent makes, by a shell that this agent chose. */
  readonly ownDirectory?: true;
  readonly ownShell?: true;
  readonly group?: GroupTerms;
}

/** The control group of a run. */
export interface GroupTerms {
  readonly path: string;
  /** Enforced; absent: memory is not. */
  readonly memoryBytes?: number;
}

export type StopCause = "stopped" | "time-limit";

/** The intention to end a run. Written down before the first signal is sent. */
export interface Stop {
  readonly cause: StopCause;
  readonly killAtMs: number;
  /** What this agent has sent; after KILL what the wrapper had to say may be lost. */
  readonly sent: "SIGTERM" | "SIGKILL" | undefined;
}

/** Who waits for the command. Of our own starter's the end is told to us; others are looked at. */
export type Wrapper =
  | { readonly kind: "told" }
  | { readonly kind: "adopted"; readonly identities: readonly ProcessIdentity[] } // any is enough
  | { readonly kind: "unknown"; readonly sinceMs: number }; // took the run, has not said who it is

/**
 *   running ----wrapper gone----> ended
 *      |                            ^
 *      +--wrapper gone, but others  |
 *         of a stopped run go on--> lingering
 *
 * A lingering run's command has ended; others of its session still have their grace period.
 */
export type RunState =
  | { readonly kind: "running"; readonly wrapper: Wrapper; readonly stop: Stop | undefined }
  | { readonly kind: "lingering"; readonly session: ProcessIdentity; readonly stop: Stop }
  | { readonly kind: "ended"; readonly report: Extract<RunReport, { kind: "ended" }> };

export interface Run {
  readonly id: RunId;
  terms: RunTerms;
  /** False: handed to the starter, which has not said yet that the process exists. */
  hasBegun: boolean;
  /** By a clock that nobody sets; undefined: in an earlier life, or not yet. */
  begunAt?: number;
  state: RunState;
  /** Processes that left its session and were sent TERM. */
  warned?: Set<number>;
  /** As its wrapper told when it ended; undefined: to be looked up. */
  left: Left | undefined;
}

/** What a run left in its directory. */
export interface Left {
  readonly outputBytes: readonly [stdout: number, stderr: number];
  readonly isClean: boolean;
  readonly hasFiles: boolean;
}

/** For a run that is found alive after the journal was lost. */
export const strayTerms = (startedAtMs: number, group: GroupTerms | undefined): RunTerms => ({
  program: "unknown",
  startedAtMs,
  timeLimitMs: undefined,
  killGraceMs: limits.killGraceMsDefault,
  outputLimitBytes: limits.outputBytesDefault,
  ...(group === undefined ? {} : { group }),
});

export const isActive = (run: Run | undefined): boolean =>
  run !== undefined && run.state.kind !== "ended";

/** No wrapper has said yet that its process exists. */
const isQueued = ({ hasBegun, state }: Run): boolean => !hasBegun && state.kind !== "ended";

export const queuedOf = (runs: Iterable<Run>): RunId[] =>
  [...runs].filter(isQueued).map(({ id }) => id);

export const knownOf = (runs: Iterable<Run>): { id: RunId; report: RunReport }[] =>
  [...runs].filter((run) => !isQueued(run)).map((run) => ({ id: run.id, report: reportOf(run) }));

export function reportOf(run: Run): RunReport {
  return run.state.kind === "ended"
    ? run.state.report
    : { kind: "running", startedAtMs: run.terms.startedAtMs };
}

/** The clock may have been set since it began: how long it took is known better than when it ended. */
export function endReportOf(
  { hasBegun, begunAt, terms }: Run,
  end: RunEnd,
  endedAtMs: number,
  measured: Usage | undefined,
): Extract<RunReport, { kind: "ended" }> {
  if (!hasBegun || end.kind === "could-not-start" || end.kind === "node-fault") {
    return { kind: "ended", startedAtMs: undefined, endedAtMs, end };
  }
  const { startedAtMs } = terms;
  const heardMs = begunAt === undefined ? undefined : performance.now() - begunAt;
  const tookMs = measured?.wallUs === undefined ? heardMs : measured.wallUs / 1_000;
  const atMs = tookMs === undefined ? Math.max(endedAtMs, startedAtMs) : startedAtMs + tookMs;
  return { kind: "ended", startedAtMs, endedAtMs: Math.round(atMs), end, usage: measured };
}

/** What is kept of its output; undefined: to be looked up. */
export function bytesOf({ left, terms }: Run): number | undefined {
  if (left === undefined) return undefined;
  const [stdout, stderr] = left.outputBytes;
  const max = terms.outputLimitBytes + 1; // see cutOutput
  return Math.min(stdout, max) + Math.min(stderr, max);
}
