import type { ReportedProgress } from "../../../core/model/job/task-progress.ts";
import type { EndedReport, RunId, RunReport } from "../../../ports/executor.ts";
import { idOf } from "../../runs/run-key.ts";
import type { OwnReplay, RememberedRun, StopOrder } from "../../runs/ledger/run-entries.ts";
import { changeRun } from "../../runs/ledger/run-entries.ts";
import type { KeptSpec } from "./kept-specs.ts";

/** The data of a run that must survive a restart. */
export interface SiteRunTerms {
  /** See idempotencyKeyOf. */
  readonly submitKey: string;
  /** The spec of the job below; absent once the job is there. */
  readonly spec?: KeptSpec | undefined;
  /** The task below, like "17" or "17.3"; absent: it is not known to be there. */
  readonly taskId?: string | undefined;
  readonly arrayIndex?: number | undefined;
  /** The energy of a share: then the whole job below is the run, however many tasks it is split into. */
  readonly shareWattSeconds?: number | undefined;
  readonly killGraceMs: number;
  readonly outputLimitBytes: number;
}

/**
 * The state of a run.
 *
 *   waiting --a call is on its way--> doubtful --answer--> below --its task has ended--> ended
 *      ^                                 |
 *      +-- refused for now --------------+   each of them: --refused, stopped--> ended
 *
 * doubtful: a job may be below or not. A repeated submission finds it, or creates it.
 */
export type Whereabouts = "waiting" | "doubtful" | "below";

export class SiteRun {
  readonly id: RunId;
  readonly key: string;
  terms: SiteRunTerms;
  at: Whereabouts;
  stop: StopOrder | undefined = undefined;
  startedAtMs: number | undefined = undefined;
  ended: EndedReport | undefined = undefined;
  /** Its last reported progress. */
  progress: ReportedProgress | undefined = undefined;
  /** It is queued below, perhaps again. */
  isQueued = true;
  /** The reason, if it is known. */
  reason: string | undefined = undefined;
  lookedAtMs = 0;
  /** For a share: one of its tasks has changed, and its job was not looked up since. */
  isDue = false;

  constructor(id: RunId, key: string, terms: SiteRunTerms, at: Whereabouts) {
    this.id = id;
    this.key = key;
    this.terms = terms;
    this.at = at;
  }
}

export const reportOf = ({ ended, startedAtMs }: SiteRun): RunReport | undefined =>
  ended ?? (startedAtMs === undefined ? undefined : { kind: "running", startedAtMs });

/** Entries that only this executor writes. */
export type SiteEntry =
  | { readonly kind: "submitted"; readonly ids: readonly (readonly [key: string, task: string])[] }
  | { readonly kind: "began"; readonly key: string; readonly startedAtMs: number };

export class SiteReplay implements OwnReplay<SiteRunTerms, SiteEntry> {
  readonly #starts = new Map<string, number>();

  begin(key: string, terms: SiteRunTerms): void {
    void terms;
    this.#starts.delete(key);
  }

  read(entry: SiteEntry, runs: Map<string, RememberedRun<SiteRunTerms>>): void {
    if (entry.kind === "began") {
      this.#starts.set(entry.key, entry.startedAtMs);
      return;
    }
    for (const [key, taskId] of entry.ids) {
      const terms = runs.get(key)?.terms;
      if (terms !== undefined)
        changeRun(runs, key, { terms: { ...terms, taskId, spec: undefined } });
    }
  }

  *runs(remembered: ReadonlyMap<string, RememberedRun<SiteRunTerms>>): Generator<SiteRun> {
    for (const [key, { terms, stop, ended }] of remembered) {
      const at = terms.taskId === undefined ? "doubtful" : "below";
      const run = new SiteRun(idOf(key), key, terms, at);
      run.stop = stop;
      run.ended = ended;
      run.startedAtMs = this.#starts.get(key) ?? ended?.startedAtMs;
      yield run;
    }
  }
}

/** The entries that a compacted journal must hold besides the terms. */
export function* entriesOf({ key, startedAtMs }: SiteRun): Generator<SiteEntry> {
  if (startedAtMs !== undefined) yield { kind: "began", key, startedAtMs };
}
