import { TABLES } from "../core/state/tables/tables.ts";
import type { Logger } from "../ports/logger.ts";
import type { Commit } from "./loop/open-batch.ts";

/** Logs the principal that removed a row: after the event no other record shows it. */
export function logRemovals({ changes }: Pick<Commit, "changes">, logger: Logger): void {
  for (const change of changes) {
    if (change.table === "task" || !("removed" in change) || change.by === undefined) continue;
    logger.info({ row: TABLES.keyOf(change), by: change.by }, "removed");
  }
}
