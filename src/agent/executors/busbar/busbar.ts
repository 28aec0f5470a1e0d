import { createClient } from "../../../client/client.ts";
import { makeDirectory } from "../../../lib/make-directory.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { ClusterSource } from "../../../ports/cluster-source.ts";
import type { Executor } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { Alarm } from "../../alarm.ts";
import { readBootId } from "../../proc.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { KEPT_BOUNDS } from "../../runs/ledger/kept-outputs.ts";
import { lockDirectory } from "../../runs/lock.ts";
import { partOfRuns } from "./energy/part-of-runs.ts";
import { SitePower } from "./energy/site-power.ts";
import type { SiteTerms } from "./lower-spec.ts";
import { SiteRuns } from "./site-runs.ts";
import { createSiteSource } from "./site-source.ts";
import { watchSite } from "./site-watch.ts";

export interface BusbarOptions extends Omit<SiteTerms, "group"> {
  /** The address of the Busbar below. */
  readonly to: string;
  /** The group of jobs from above; undefined: UPSTREAM. */
  readonly group: string | undefined;
  /** Holds the journal. One executor at a time. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds?: KeptBounds | undefined;
}

/** The default group of jobs that come from above. */
const UPSTREAM = "upstream";

export interface SiteBelow {
  /** The runs that its cluster accepts. Closing it closes all. */
  readonly executor: Executor;
  readonly source: ClusterSource;
  /** Its edges as one node. */
  readonly edges: { readonly executor: Executor; readonly power: SitePower };
}

/** Another Busbar as a cluster: runs are its jobs, and its nodes are the cluster's nodes. */
export async function createBusbar(options: BusbarOptions): Promise<SiteBelow> {
  const { to, directory, clock, logger, keptBounds = KEPT_BOUNDS } = options;
  makeDirectory(directory);
  const unlock = lockDirectory(directory, readBootId());
  const api = createClient({ server: to });
  try {
    const terms = { ...options, group: options.group ?? UPSTREAM, api };
    const runs = new SiteRuns({ ...terms, keptBounds });
    const over = new AbortController();
    const executor = partOfRuns(runs, "tasks", async () => {
      over.abort();
      if (!(await runs.close())) return;
      api.close();
      unlock();
    });
    const power = new SitePower(() => runs.shares());
    const edges = { executor: partOfRuns(runs, "shares", async () => undefined), power };
    let onShape: () => void = () => undefined;
    const source: ClusterSource = {
      ...createSiteSource({ ...terms, power, onShape: () => onShape() }),
      onChange(listener) {
        let describedAtMs = 0;
        const alarm = new Alarm(clock, () => {
          describedAtMs = clock.nowMs();
          listener();
        });
        over.signal.addEventListener("abort", () => alarm.stop());
        const soon = (): void =>
          alarm.wakeBy(
            Math.max(clock.nowMs() + limits.siteGatherMs, describedAtMs + limits.siteDescribeMsMin),
          );
        onShape = soon;
        const what = { nodes: true };
        const hear = { what, api, clock, logger, onEvent: soon, onBeginning: soon };
        void watchSite(hear, over.signal);
      },
    };
    return { executor, source, edges };
  } catch (error) {
    api.close();
    unlock();
    throw error;
  }
}
