import { unreachable } from "../../../lib/invariant.ts";
import type { OwnReplay, RememberedRun } from "../../runs/ledger/run-entries.ts";
import { changeRun } from "../../runs/ledger/run-entries.ts";
import type { ProcessRunTerms } from "./run.ts";

/** Entries that only the journal of a process executor has: see RunEntry for the others. */
export type ProcessEntry =
  /** No run survives a restart of the machine. */
  | { readonly kind: "boot"; readonly bootId: string }
  /** The launch may have been queued since the start of the run. */
  | { readonly kind: "begun"; readonly key: string; readonly atMs: number };

/** Reads the entries of an earlier process. */
export class ProcessReplay implements OwnReplay<ProcessRunTerms, ProcessEntry> {
  #bootId: string | undefined;

  read(entry: ProcessEntry, runs: Map<string, RememberedRun<ProcessRunTerms>>): void {
    switch (entry.kind) {
      case "boot":
        this.#bootId = entry.bootId;
        return;
      case "begun": {
        const terms = runs.get(entry.key)?.terms;
        if (terms === undefined) return;
        changeRun(runs, entry.key, { terms: { ...terms, startedAtMs: entry.atMs } });
        return;
      }
      default:
        unreachable(entry);
    }
  }

  /** Whether the machine has not restarted since; true when the journal does not say. */
  isSameBoot(bootId: string): boolean {
    return this.#bootId === undefined || this.#bootId === bootId;
  }
}
