import type { Executor, RunId } from "../../../../ports/executor.ts";
import type { SiteRuns } from "../site-runs.ts";

/**
 * One agent's part of the runs of a site: the shares of energy, which the server above places on the site as on a node, or all other runs,
 * which the site's cluster accepts. Both are jobs of the same Busbar, in the same journal and the same watch.
 */
export function partOfRuns(
  runs: SiteRuns,
  part: "shares" | "tasks",
  close: () => Promise<void>,
): Executor {
  const isOwn = (id: RunId): boolean => runs.isShare(id) === (part === "shares");
  return {
    name: "busbar",
    start: (request) => runs.start(request),
    stop: (id) => runs.stop(id),
    forget: (id) => runs.forget(id),
    known: () => runs.known().filter(({ id }) => isOwn(id)),
    queued: () => runs.queued().filter(isOwn),
    whyQueued: () =>
      runs.whyQueued().flatMap(({ reason, runs: all }) => {
        const own = all.filter(isOwn);
        return own.length === 0 ? [] : [{ reason, runs: own }];
      }),
    readOutput: (id, stream, how) => runs.readOutput(id, stream, how),
    onReport: (listener) =>
      runs.onReport((id, report) => {
        if (isOwn(id)) listener(id, report);
      }),
    onProgress: (listener) =>
      runs.onProgress((id, progress) => {
        if (isOwn(id)) listener(id, progress);
      }),
    close,
  };
}
