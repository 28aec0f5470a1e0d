import type { Usage } from "../../../core/model/job/usage.ts";
import { limits } from "../../../limits.ts";
import type { EndedReport, RunEnd, RunId, RunReport } from "../../../ports/executor.ts";
import type { ProcessIdentity } from "../../proc.ts";
import type { RunTerms, StopOrder } from "../../runs/ledger/run-entries.ts";

/** What must be known to look after a run, also for an agent that did not start it. */
export interface ProcessRunTerms extends RunTerms {
  readonly program: string; // for messages
  /** Where it is looked for, if not where all are; see placeOf. */
  readonly lookedIn?: string;
  readonly startedAtMs: number;
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

export interface ProcessStop extends StopOrder {
  /** The signal that this agent has sent; after KILL the wrapper's record may be lost. */
  readonly sent: "SIGTERM" | "SIGKILL" | undefined;
}

/** The parent of the command. Runs started by this process report their own end; the agent polls others. */
export type Wrapper =
  | { readonly kind: "told" }
  | { readonly kind: "adopted"; readonly identities: readonly ProcessIdentity[] } // any is enough
  | { readonly kind: "unknown"; readonly sinceMs: number }; // took the run, has not said who it is

export const TOLD: Wrapper = { kind: "told" };

/**
 *   running ----wrapper gone----> ended
 *      |                            ^
 *      +--wrapper gone, but others  |
 *         of a stopped run go on--> lingering
 *
 * A lingering run's command has ended; others of its session still have their grace period.
 */
export type ProcessRunState =
  | { readonly kind: "running"; readonly wrapper: Wrapper; readonly stop: ProcessStop | undefined }
  | { readonly kind: "lingering"; readonly session: ProcessIdentity; readonly stop: ProcessStop }
  | { readonly kind: "ended"; readonly report: EndedReport };

export interface ProcessRun {
  readonly id: RunId;
  readonly key: string;
  terms: ProcessRunTerms;
  /** False: the starter has it, and has not reported yet that the process exists. */
  hasBegun: boolean;
  /** By the monotonic clock; undefined: in an earlier process, or not yet. */
  begunAt?: number;
  state: ProcessRunState;
  /** Processes that left its session and were sent TERM. */
  warned?: Set<number>;
  /** As its wrapper told when it ended; undefined: to be looked up. */
  left: Left | undefined;
}

/** The leftovers of a run in its directory. */
export interface Left {
  readonly outputBytes: readonly [stdout: number, stderr: number];
  readonly isClean: boolean;
  readonly hasFiles: boolean;
}

/** For a run that is found alive after the journal was lost. */
export const strayTerms = (
  startedAtMs: number,
  group: GroupTerms | undefined,
): ProcessRunTerms => ({
  program: "unknown",
  startedAtMs,
  timeLimitMs: undefined,
  killGraceMs: limits.killGraceMsDefault,
  outputLimitBytes: limits.outputBytesDefault,
  ...(group === undefined ? {} : { group }),
});

export const isActive = (run: ProcessRun | undefined): boolean =>
  run !== undefined && run.state.kind !== "ended";

/** undefined: no wrapper has said yet that its process exists. */
export function reportOf({ state, hasBegun, terms }: ProcessRun): RunReport | undefined {
  if (state.kind === "ended") return state.report;
  return hasBegun ? { kind: "running", startedAtMs: terms.startedAtMs } : undefined;
}

export const stopOf = ({ state }: ProcessRun): ProcessStop | undefined =>
  state.kind === "ended" ? undefined : state.stop;

/** The clock may have been set since it began: how long it took is known better than when it ended. */
export function endReportOf(
  { hasBegun, begunAt, terms }: ProcessRun,
  end: RunEnd,
  endedAtMs: number,
  measured: Usage | undefined,
): EndedReport {
  if (!hasBegun || end.kind === "could-not-start" || end.kind === "node-fault") {
    return { kind: "ended", startedAtMs: undefined, endedAtMs, end };
  }
  const { startedAtMs } = terms;
  const heardMs = begunAt === undefined ? undefined : performance.now() - begunAt;
  const tookMs = measured?.wallUs === undefined ? heardMs : measured.wallUs / 1_000;
  const atMs = tookMs === undefined ? Math.max(endedAtMs, startedAtMs) : startedAtMs + tookMs;
  return { kind: "ended", startedAtMs, endedAtMs: Math.round(atMs), end, usage: measured };
}

/** Bytes of its output that are retained; undefined: to be looked up. */
export function bytesOf({ left, terms }: ProcessRun): number | undefined {
  if (left === undefined) return undefined;
  const [stdout, stderr] = left.outputBytes;
  const max = terms.outputLimitBytes + 1; // see cutOutput
  return Math.min(stdout, max) + Math.min(stderr, max);
}
