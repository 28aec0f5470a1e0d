import type { Usage } from "../../../core/model/job/usage.ts";
import { limits } from "../../../limits.ts";
import type { EndedReport, RunEnd, RunId, RunReport } from "../../../ports/executor.ts";
import type { ProcessIdentity } from "../../proc.ts";
import type { RunTerms, StopOrder } from "../../runs/ledger/run-entries.ts";

/** The data needed to manage a run, also by an agent that did not start it. */
export interface ProcessRunTerms extends RunTerms {
  readonly program: string; // for messages
  /** The search path, if it is not the usual one; see placeOf. */
  readonly lookedIn?: string;
  readonly startedAtMs: number;
  /** The run works in a directory that this agent makes, with a shell that this agent chose. */
  readonly ownDirectory?: true;
  readonly ownShell?: true;
  readonly group?: GroupTerms;
}

/** The control group of a run. */
export interface GroupTerms {
  readonly path: string;
  /** The enforced limit; absent: memory is not limited. */
  readonly memoryBytes?: number;
}

export interface ProcessStop extends StopOrder {
  /** The signal that this agent has sent; after KILL the wrapper's record may be lost. */
  readonly sent: "SIGTERM" | "SIGKILL" | undefined;
}

/** The parent of the command. Runs started by this process report their own end; the agent polls others. */
export type Wrapper =
  | { readonly kind: "told" }
  | { readonly kind: "adopted"; readonly identities: readonly ProcessIdentity[] } // any of them suffices
  | { readonly kind: "unknown"; readonly sinceMs: number }; // claimed the run, has not recorded its identity yet

export const TOLD: Wrapper = { kind: "told" };

/**
 *  running ----wrapper gone----> ended
 *      |                            ^
 *      +--wrapper gone, but others  |
 *         of a stopped run go on--> lingering
 *
 * The command of a lingering run has ended; other processes of its session still have their grace period.
 */
export type ProcessRunState =
  | { readonly kind: "running"; readonly wrapper: Wrapper; readonly stop: ProcessStop | undefined }
  | { readonly kind: "lingering"; readonly session: ProcessIdentity; readonly stop: ProcessStop }
  | { readonly kind: "ended"; readonly report: EndedReport };

export interface ProcessRun {
  readonly id: RunId;
  readonly key: string;
  terms: ProcessRunTerms;
  /** False: the starter has it, and has not reported the process yet. */
  hasBegun: boolean;
  /** By the monotonic clock; undefined: in an earlier process, or not yet. */
  begunAt?: number;
  state: ProcessRunState;
  /** Processes that left its session and were sent TERM. */
  warned?: Set<number>;
  /** The record of its wrapper at the end; undefined: to be read from the file. */
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

/** undefined: no wrapper has reported its process yet. */
export function reportOf({ state, hasBegun, terms }: ProcessRun): RunReport | undefined {
  if (state.kind === "ended") return state.report;
  return hasBegun ? { kind: "running", startedAtMs: terms.startedAtMs } : undefined;
}

export const stopOf = ({ state }: ProcessRun): ProcessStop | undefined =>
  state.kind === "ended" ? undefined : state.stop;

/** The clock may have been set since the start: the duration is more reliable than the end time. */
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

/** Retained bytes of its output; undefined: to be computed. */
export function bytesOf({ left, terms }: ProcessRun): number | undefined {
  if (left === undefined) return undefined;
  const [stdout, stderr] = left.outputBytes;
  const max = terms.outputLimitBytes + 1; // see cutOutput
  return Math.min(stdout, max) + Math.min(stderr, max);
}
