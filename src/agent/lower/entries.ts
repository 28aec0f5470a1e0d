import { unreachable } from "../../lib/invariant.ts";
import type { KeptOutputs } from "../runs/ledger/kept-outputs.ts";
import { idOf } from "../runs/run-key.ts";
import type { Ended, Part, PartState, Run, RunTerms, StopCause } from "./run.ts";
import { makeRun } from "./run.ts";
import type { Submission } from "./submission.ts";

/**
 * What must still be known after the agent was killed. Every entry is written before what it tells of
 * is done; `key` is a run's, `part` one of its parts'.
 */
export type Entry =
  | { readonly kind: "accepted"; readonly key: string; readonly terms: RunTerms }
  | ({ readonly kind: "submitting"; readonly parts: readonly string[] } & Pick<
      Submission,
      "marker" | "indexes"
    >)
  | {
      readonly kind: "submitted"; // as one of its jobs the scheduler has taken each of these
      readonly ids: readonly (readonly [part: string, id: string])[];
    }
  /** The scheduler has none of them: they wait again. */
  | { readonly kind: "not-submitted"; readonly parts: readonly string[] }
  | { readonly kind: "began"; readonly part: string; readonly startedAtMs: number }
  | {
      readonly kind: "part-ended";
      readonly part: string;
      readonly state: Extract<PartState, { kind: "ended" }>;
    }
  | {
      readonly kind: "stopping";
      readonly key: string;
      readonly cause: StopCause;
      readonly killAtMs: number;
    }
  | { readonly kind: "ended"; readonly key: string; readonly report: Ended }
  | {
      readonly kind: "forgotten"; // acknowledged; its output is kept for a while
      readonly key: string;
      readonly atMs: number;
      readonly bytes: number;
      readonly outputLimitBytes: number;
      readonly terms: RunTerms;
    }
  | { readonly kind: "removed"; readonly key: string };

/** What an earlier life knew. */
export interface Memory {
  readonly runs: Map<string, Run>;
  /** Of runs that were forgotten: how their output is made up. */
  readonly keptTerms: Map<string, RunTerms>;
  /** Submissions of which it is not known whether the scheduler took them. */
  readonly submissions: Map<string, Submission>;
}

/** Plays the journal of an earlier life; what was forgotten goes into `kept`. */
export function recall(entries: readonly Entry[], kept: KeptOutputs): Memory {
  const memory: Memory = { runs: new Map(), keptTerms: new Map(), submissions: new Map() };
  const parts = new Map<string, Part>();
  for (const entry of entries) play(memory, parts, kept, entry);
  for (const [marker, { parts: members }] of memory.submissions) {
    const isOpen = ({ run, state }: Part): boolean =>
      state.kind === "submitting" &&
      state.marker === marker &&
      run.ended === undefined &&
      memory.runs.has(run.key);
    if (!members.some(isOpen)) memory.submissions.delete(marker);
  }
  return memory;
}

function play(
  { runs, keptTerms, submissions }: Memory,
  parts: Map<string, Part>,
  kept: KeptOutputs,
  entry: Entry,
): void {
  const move = (key: string, state: PartState): void => {
    const part = parts.get(key);
    if (part !== undefined) part.state = state;
  };
  switch (entry.kind) {
    case "accepted": {
      const run = makeRun(idOf(entry.key), entry.key, entry.terms);
      runs.set(entry.key, run);
      kept.remove(entry.key);
      for (const part of run.parts.flat()) parts.set(part.key, part);
      return;
    }
    case "submitting": {
      const { marker, indexes } = entry;
      const members = entry.parts.flatMap((key) => parts.get(key) ?? []);
      submissions.set(marker, { marker, indexes, parts: members, sinceMs: 0 });
      for (const part of members) part.state = { kind: "submitting", marker };
      return;
    }
    case "submitted":
      for (const [key, id] of entry.ids) {
        move(key, { kind: "submitted", id, isRunning: false, missingSinceMs: undefined });
      }
      return;
    case "not-submitted":
      for (const key of entry.parts) move(key, { kind: "waiting" });
      return;
    case "began": {
      const part = parts.get(entry.part);
      if (part !== undefined) part.startedAtMs = entry.startedAtMs;
      return;
    }
    case "part-ended":
      move(entry.part, entry.state);
      return;
    case "stopping": {
      const run = runs.get(entry.key);
      const { cause, killAtMs } = entry;
      // The scheduler may or may not have been asked: twice does less harm than never.
      if (run !== undefined) run.stop = { cause, killAtMs, asked: undefined };
      return;
    }
    case "ended": {
      const run = runs.get(entry.key);
      if (run !== undefined) run.ended = entry.report;
      return;
    }
    case "forgotten":
      runs.delete(entry.key);
      kept.add(entry.key, { ...entry, forgottenAtMs: entry.atMs });
      keptTerms.set(entry.key, entry.terms);
      return;
    case "removed":
      runs.delete(entry.key);
      kept.remove(entry.key);
      keptTerms.delete(entry.key);
      return;
    default:
      unreachable(entry);
  }
}

/** The shortest journal that `recall` turns into the same memory. */
export function* summarise(
  { runs, keptTerms, submissions }: Memory,
  kept: KeptOutputs,
): Generator<Entry> {
  for (const [key, { forgottenAtMs: atMs, bytes, outputLimitBytes }] of kept.entries()) {
    const terms = keptTerms.get(key);
    if (terms !== undefined) {
      yield { kind: "forgotten", key, atMs, bytes, outputLimitBytes, terms };
    }
  }
  for (const [key, run] of runs) {
    yield { kind: "accepted", key, terms: run.terms };
    if (run.stop !== undefined) {
      const { cause, killAtMs } = run.stop;
      yield { kind: "stopping", key, cause, killAtMs };
    }
    for (const part of run.parts.flat()) yield* summarisePart(part);
    if (run.ended !== undefined) yield { kind: "ended", key, report: run.ended };
  }
  for (const { marker, indexes, parts } of submissions.values()) {
    yield { kind: "submitting", marker, indexes, parts: parts.map(({ key }) => key) };
  }
}

function* summarisePart({ key: part, state, startedAtMs }: Part): Generator<Entry> {
  if (startedAtMs !== undefined) yield { kind: "began", part, startedAtMs };
  if (state.kind === "submitted") yield { kind: "submitted", ids: [[part, state.id]] };
  if (state.kind === "ended") yield { kind: "part-ended", part, state };
}
