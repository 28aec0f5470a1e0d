import { unreachable } from "../../../lib/invariant.ts";
import type { JournalEntry } from "./journal-entry.ts";
import type { KeptOutputs } from "../../runs/kept-outputs.ts";
import type { Run, RunTerms, Stop } from "./run.ts";

/** A run as the journal tells it: what became of it since must be looked up. */
export interface Remembered {
  readonly terms: RunTerms;
  readonly stop: Stop | undefined;
  readonly ended: Extract<JournalEntry, { kind: "ended" }>["report"] | undefined;
}

export interface Memory {
  readonly bootId: string | undefined;
  readonly runs: ReadonlyMap<string, Remembered>;
}

/** Plays the journal of an earlier life; forgotten runs go into `kept`. */
export function recall(entries: readonly JournalEntry[], kept: KeptOutputs): Memory {
  const runs = new Map<string, Remembered>();
  let bootId: string | undefined;
  for (const entry of entries) {
    switch (entry.kind) {
      case "boot":
        bootId = entry.bootId;
        break;
      case "started":
        kept.remove(entry.key);
        runs.set(entry.key, { terms: entry.terms, stop: undefined, ended: undefined });
        break;
      case "begun":
        begin(runs, entry.key, entry.atMs);
        break;
      case "stopping":
        change(runs, entry.key, {
          // TERM may or may not have been sent: a second one does less harm than none.
          stop: { cause: entry.cause, killAtMs: entry.killAtMs, sent: undefined },
        });
        break;
      case "ended":
        change(runs, entry.key, { ended: entry.report });
        break;
      case "forgotten":
        runs.delete(entry.key);
        kept.add(entry.key, { ...entry, forgottenAtMs: entry.atMs });
        break;
      case "removed":
        runs.delete(entry.key);
        kept.remove(entry.key);
        break;
      default:
        unreachable(entry);
    }
  }
  return { bootId, runs };
}

/** Those that had not ended when the journal was last written. */
export function unendedOf({ runs }: Memory): string[] {
  const keys: string[] = [];
  for (const [key, { ended }] of runs) if (ended === undefined) keys.push(key);
  return keys;
}

function begin(runs: Map<string, Remembered>, key: string, startedAtMs: number): void {
  const run = runs.get(key);
  if (run !== undefined) runs.set(key, { ...run, terms: { ...run.terms, startedAtMs } });
}

function change(runs: Map<string, Remembered>, key: string, to: Partial<Remembered>): void {
  const run = runs.get(key);
  if (run !== undefined) runs.set(key, { ...run, ...to });
}

/** The shortest journal that `recall` turns into the same runs and outputs. */
export function* summarise(
  bootId: string,
  runs: ReadonlyMap<string, Run>,
  kept: KeptOutputs,
): Generator<JournalEntry> {
  yield { kind: "boot", bootId };
  for (const [key, output] of kept.entries()) {
    const { forgottenAtMs: atMs, bytes, outputLimitBytes } = output;
    yield { kind: "forgotten", key, atMs, bytes, outputLimitBytes };
  }
  for (const [key, run] of runs) {
    yield { kind: "started", key, terms: run.terms };
    if (run.state.kind === "ended") {
      yield { kind: "ended", key, report: run.state.report };
    } else if (run.state.stop !== undefined) {
      const { cause, killAtMs } = run.state.stop;
      yield { kind: "stopping", key, cause, killAtMs };
    }
  }
}
