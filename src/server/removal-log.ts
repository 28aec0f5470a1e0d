import { TABLES } from "../core/state/tables/tables.ts";
import type { Logger } from "../ports/logger.ts";
import type { Commit } from "./loop/open-batch.ts";

/** Logs who removed a row: nothing else tells it once the event has passed. */
export function logRemovals({ changes }: Pick<Commit, "changes">, logger: Logger): void {
  for (const change of changes) {
    if (change.table === "task" || !("removed" in change) || change.by === undefined) continue;
    logger.info({ row: TABLES.keyOf(change), by: change.by }, "removed");
  }
}
