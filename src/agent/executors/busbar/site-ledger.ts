import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { RunLedger } from "../../runs/ledger/run-ledger.ts";
import type { KeptSpecs } from "./kept-specs.ts";
import type { SiteEntry, SiteRun, SiteRunTerms } from "./site-run.ts";
import { entriesOf, reportOf, SiteReplay } from "./site-run.ts";

export interface SiteLedgerOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds: KeptBounds;
}

export type SiteLedger = RunLedger<SiteRun, SiteRunTerms, SiteEntry>;

/** The run ledger of this executor, with the runs of an earlier process. */
export function openSiteLedger(options: SiteLedgerOptions, specs: KeptSpecs): SiteLedger {
  const { directory, clock, logger, keptBounds } = options;
  const ledger: SiteLedger = new RunLedger({
    clock,
    logger,
    keptBounds,
    firstEntry: "accepted",
    reportOf,
    stopOf: ({ stop }) => stop,
    summary: { ofRun: entriesOf },
    onReplaced: () => undefined, // its output is below, under another task
    onRemoved: () => undefined,
  });
  const replay = new SiteReplay();
  for (const run of replay.runs(ledger.read(directory, replay))) ledger.restore(run);
  for (const { terms } of ledger.runs.values()) if (terms.spec) specs.use(terms.spec);
  specs.removeStrays();
  ledger.open(directory);
  return ledger;
}
