import { unreachable } from "../../lib/invariant.ts";
import type { OwnReplay, RememberedRun } from "../runs/ledger/run-entries.ts";
import { idOf } from "../runs/run-key.ts";
import type { LowerRun, LowerRunTerms, Part, PartState } from "./run.ts";
import { makeRun, startOf } from "./run.ts";
import type { LowerSubmission } from "./submission.ts";

/** Entries that only the journal of an executor over another scheduler has: see RunEntry for the others. `part` is a part of a run. */
export type LowerEntry =
  | ({ readonly kind: "submitting"; readonly parts: readonly string[] } & Pick<
      LowerSubmission,
      "marker" | "indexes"
    >)
  /** The scheduler has accepted each of these parts as one of its jobs. */
  | {
      readonly kind: "submitted";
      readonly ids: readonly (readonly [part: string, id: string])[];
    }
  /** The scheduler has none of them: they are to be submitted again. */
  | { readonly kind: "not-submitted"; readonly parts: readonly string[] }
  | { readonly kind: "began"; readonly part: string; readonly startedAtMs: number }
  | {
      readonly kind: "part-ended";
      readonly part: string;
      readonly state: Extract<PartState, { kind: "ended" }>;
    };

/** Reads the entries of an earlier process. */
export class LowerReplay implements OwnReplay<LowerRunTerms, LowerEntry> {
  readonly #runs = new Map<string, LowerRun>();
  readonly #parts = new Map<string, Part>();
  readonly #submissions = new Map<string, LowerSubmission>();

  begin(key: string, terms: LowerRunTerms): void {
    const run = makeRun(idOf(key), key, terms);
    this.#runs.set(key, run);
    for (const part of run.parts.flat()) this.#parts.set(part.key, part);
  }

  read(entry: LowerEntry): void {
    switch (entry.kind) {
      case "submitting": {
        const { marker, indexes } = entry;
        const members = entry.parts.flatMap((key) => this.#parts.get(key) ?? []);
        this.#submissions.set(marker, { marker, indexes, parts: members, sinceMs: 0 });
        for (const part of members) part.state = { kind: "submitting", marker };
        return;
      }
      case "submitted":
        for (const [key, id] of entry.ids) {
          this.#move(key, { kind: "submitted", id, isRunning: false, missingSinceMs: undefined });
        }
        return;
      case "not-submitted":
        for (const key of entry.parts) this.#move(key, { kind: "waiting" });
        return;
      case "began": {
        const part = this.#parts.get(entry.part);
        if (part !== undefined) part.startedAtMs = entry.startedAtMs;
        return;
      }
      case "part-ended":
        this.#move(entry.part, entry.state);
        return;
      default:
        unreachable(entry);
    }
  }

  #move(key: string, state: PartState): void {
    const part = this.#parts.get(key);
    if (part !== undefined) part.state = state;
  }

  /** Runs as the earlier process left them; `remembered` holds those that it has not dropped. */
  *runs(remembered: ReadonlyMap<string, RememberedRun<LowerRunTerms>>): Generator<LowerRun> {
    for (const [key, { stop, ended }] of remembered) {
      const run = this.#runs.get(key);
      if (run === undefined) continue;
      run.stop = stop && { ...stop, asked: undefined };
      run.ended = ended;
      run.isTold = startOf(run) !== undefined;
      yield run;
    }
  }

  /** Submissions of `runs` that the scheduler may or may not have accepted. */
  *openSubmissions(runs: ReadonlyMap<string, LowerRun>): Generator<LowerSubmission> {
    for (const submission of this.#submissions.values()) {
      const { marker, parts } = submission;
      const isOpen = ({ run, state }: Part): boolean =>
        state.kind === "submitting" &&
        state.marker === marker &&
        run.ended === undefined &&
        runs.get(run.key) === run;
      if (parts.some(isOpen)) yield submission;
    }
  }
}

export const submittingEntry = ({ marker, indexes, parts }: LowerSubmission): LowerEntry => ({
  kind: "submitting",
  marker,
  indexes,
  parts: parts.map(({ key }) => key),
});

/** The entries that bring the parts of a run to their present state. */
export function* partEntries(run: LowerRun): Generator<LowerEntry> {
  for (const part of run.parts.flat()) yield* entriesOf(part);
}

function* entriesOf({ key: part, state, startedAtMs }: Part): Generator<LowerEntry> {
  if (startedAtMs !== undefined) yield { kind: "began", part, startedAtMs };
  if (state.kind === "submitted") yield { kind: "submitted", ids: [[part, state.id]] };
  if (state.kind === "ended") yield { kind: "part-ended", part, state };
}
