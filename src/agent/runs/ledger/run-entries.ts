import { unreachable } from "../../../lib/invariant.ts";
import type { EndedReport } from "../../../ports/executor.ts";
import type { KeptOutput, KeptOutputs } from "./kept-outputs.ts";

/** The data that every executor which limits and stops runs itself must still have after a restart. */
export interface RunTerms {
  readonly timeLimitMs: number | undefined;
  readonly killGraceMs: number;
  readonly outputLimitBytes: number;
}

export type StopCause = "stopped" | "time-limit";

/** The intention to end a run. The agent writes it before it stops the run. */
export interface StopOrder {
  readonly cause: StopCause;
  readonly killAtMs: number;
}

/**
 * The data about its runs that an agent must have after a kill -9, for every executor. The agent writes each entry before it acts on it;
 * `key` is a run's (see runKey). The lines are a format: operators upgrade and downgrade agents while runs are active
 * (tests/contract/executor/earlier-journals.test.ts).
 */
export type RunEntry<Terms> =
  | { readonly kind: FirstEntry; readonly key: string; readonly terms: Terms }
  | ({ readonly kind: "stopping"; readonly key: string } & StopOrder)
  | { readonly kind: "ended"; readonly key: string; readonly report: EndedReport }
  | {
      readonly kind: "forgotten"; // the server has its end; the agent retains its output for a while
      readonly key: string;
      readonly atMs: number;
      readonly bytes: number;
      readonly outputLimitBytes: number;
      readonly failed?: true | undefined;
      /** For executors that need them to find the output. */
      readonly terms?: Terms | undefined;
    }
  | { readonly kind: "removed"; readonly key: string }; // all its files are removed

/** How the journal of an executor begins a run: process executors start it, others accept it. */
export type FirstEntry = "started" | "accepted";

const RUN_ENTRIES: ReadonlySet<string> = new Set<RunEntry<never>["kind"]>([
  "started",
  "accepted",
  "stopping",
  "ended",
  "forgotten",
  "removed",
]);

/** An entry that only one kind of executor writes. */
export interface OwnEntry {
  readonly kind: string;
}

/** A run as the journal has it: its later state must be looked up. */
export interface RememberedRun<Terms> {
  readonly terms: Terms;
  /** The run may or may not have received the stop: a second stop does less harm than none. */
  readonly stop: StopOrder | undefined;
  readonly ended: EndedReport | undefined;
}

/** How an executor reads its own entries. */
export interface OwnReplay<Terms, Own> {
  /** A run begins, perhaps not the one of an earlier entry. */
  begin?(key: string, terms: Terms): void;
  read(entry: Own, runs: Map<string, RememberedRun<Terms>>): void;
}

/** Runs as the journal of an earlier process has them; outputs of dropped runs go into `kept`. */
export function replay<Terms, Own extends OwnEntry>(
  entries: readonly (RunEntry<Terms> | Own)[],
  kept: KeptOutputs<Terms>,
  own: OwnReplay<Terms, Own>,
): Map<string, RememberedRun<Terms>> {
  const runs = new Map<string, RememberedRun<Terms>>();
  for (const entry of entries) {
    if (!isRunEntry<Terms>(entry)) {
      own.read(entry, runs);
      continue;
    }
    if (entry.kind === "started" || entry.kind === "accepted") own.begin?.(entry.key, entry.terms);
    replayEntry(entry, runs, kept);
  }
  return runs;
}

const isRunEntry = <Terms>(entry: RunEntry<Terms> | OwnEntry): entry is RunEntry<Terms> =>
  RUN_ENTRIES.has(entry.kind);

function replayEntry<Terms>(
  entry: RunEntry<Terms>,
  runs: Map<string, RememberedRun<Terms>>,
  kept: KeptOutputs<Terms>,
): void {
  const { key } = entry;
  switch (entry.kind) {
    case "started":
    case "accepted":
      kept.remove(key);
      runs.set(key, { terms: entry.terms, stop: undefined, ended: undefined });
      return;
    case "stopping": {
      const { cause, killAtMs } = entry;
      return changeRun(runs, key, { stop: { cause, killAtMs } });
    }
    case "ended":
      return changeRun(runs, key, { ended: entry.report });
    case "forgotten": {
      const { atMs: forgottenAtMs, bytes, outputLimitBytes, failed, terms } = entry;
      runs.delete(key);
      kept.add(key, { forgottenAtMs, bytes, outputLimitBytes, failed, terms });
      return;
    }
    case "removed":
      runs.delete(key);
      kept.remove(key);
      return;
    default:
      unreachable(entry);
  }
}

/** Changes the remembered run; does nothing for an unknown key. */
export function changeRun<Terms>(
  runs: Map<string, RememberedRun<Terms>>,
  key: string,
  to: Partial<RememberedRun<Terms>>,
): void {
  const run = runs.get(key);
  if (run !== undefined) runs.set(key, { ...run, ...to });
}

export const droppedEntry = <Terms>(
  key: string,
  { forgottenAtMs: atMs, bytes, outputLimitBytes, failed, terms }: KeptOutput<Terms>,
): RunEntry<Terms> => ({ kind: "forgotten", key, atMs, bytes, outputLimitBytes, failed, terms });
