import type { EndedReport, RunEnd, RunId, RunReport } from "../../ports/executor.ts";
import type { RunTerms, StopOrder } from "../runs/ledger/run-entries.ts";
import type { LowerEnd } from "./scheduler.ts";

/** The data of a run that is needed without reading its request. */
export interface LowerRunTerms extends RunTerms {
  readonly acceptedAtMs: number;
  readonly steps: readonly StepTerms[];
}

export interface StepTerms {
  readonly name: string;
  readonly program: string; // for messages
  /** Indexes of earlier steps in the list; all of their copies must have succeeded. */
  readonly after: readonly number[];
  /** undefined: it runs once. */
  readonly copies: number | undefined;
}

export interface LowerStop extends StopOrder {
  /** When this agent last sent the scheduler a cancel, and how. */
  readonly asked: { readonly how: "ask" | "kill"; readonly atMs: number } | undefined;
}

export interface LowerRun {
  readonly id: RunId;
  readonly key: string;
  readonly terms: LowerRunTerms;
  /** By steps, copies in order. */
  readonly parts: readonly (readonly Part[])[];
  stop: LowerStop | undefined;
  ended: EndedReport | undefined;
  /** Whether it was reported as running. */
  isTold: boolean;
}

/**
 * One job of the scheduler, or one element of an array: all of a run, or a copy of one of its steps.
 *
 *   waiting --intention is on disk--> submitting --taken--> submitted --polled--> ended
 *      ^                                  |                                         ^
 *      +------the scheduler has none------+------refused, or never to run-----------+
 */
export interface Part {
  /** "17.3.1", or for several steps "17.0.1/2" and "17.0.1/2/5": its directory below runs/. */
  readonly key: string;
  readonly run: LowerRun;
  readonly step: number;
  readonly copy: number | undefined;
  state: PartState;
  /** When it was first reported as running, also if it is queued again since. */
  startedAtMs: number | undefined;
}

export type PartState =
  | { readonly kind: "waiting" }
  | { readonly kind: "submitting"; readonly marker: string }
  | {
      readonly kind: "submitted";
      readonly id: string;
      readonly isRunning: boolean;
      /** Since when the scheduler has no record of it. */
      readonly missingSinceMs: number | undefined;
      /** Why it is queued, in the scheduler's words. */
      readonly reason?: string | undefined;
    }
  | { readonly kind: "ended"; readonly endedAtMs: number; readonly end: PartEnd };

export type PartEnd = RunEnd | Extract<LowerEnd, { kind: "skipped" }>;

/** A run with its parts, none of them submitted. */
export function makeRun(id: RunId, key: string, terms: LowerRunTerms): LowerRun {
  const parts: Part[][] = [];
  const run: LowerRun = { id, key, terms, parts, stop: undefined, ended: undefined, isTold: false };
  const isSeveral = terms.steps.length > 1;
  terms.steps.forEach(({ copies }, step) => {
    const stepKey = isSeveral || copies !== undefined ? `${key}/${step}` : key;
    const part = (copy: number | undefined): Part => ({
      key: copy === undefined ? stepKey : `${stepKey}/${copy}`,
      run,
      step,
      copy,
      state: { kind: "waiting" },
      startedAtMs: undefined,
    });
    parts.push(
      copies === undefined
        ? [part(undefined)]
        : Array.from({ length: copies }, (_, at) => part(at)),
    );
  });
  return run;
}

export const isSuccess = ({ state }: Part): boolean =>
  state.kind === "ended" && state.end.kind === "exited" && state.end.exitCode === 0;

/** When the first of its parts began. */
export function startOf({ parts }: LowerRun): number | undefined {
  let first: number | undefined;
  for (const { startedAtMs } of parts.flat()) {
    if (startedAtMs !== undefined) first = Math.min(first ?? startedAtMs, startedAtMs);
  }
  return first;
}

/** undefined: it is queued. */
export function reportOf(run: LowerRun): RunReport | undefined {
  if (run.ended !== undefined) return run.ended;
  const startedAtMs = startOf(run);
  return startedAtMs === undefined ? undefined : { kind: "running", startedAtMs };
}
