import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { limits } from "../../../limits.ts";

/**
 * Counts how often a controller ended right after it had received statuses of earlier instances. rik's own exits at one that its database
 * does not have, and its unit starts it again: without an end where that database was removed, or where two controllers without names were
 * restarted at once.
 */
export class QuickExits {
  readonly #inRow = new RecentMap<string, number>(limits.rikQuickExitNamesMax);

  /** `openMs`: how long it was subscribed. Returns whether it has now ended so often that those statuses must be the cause. */
  ended(controller: string, openMs: number): boolean {
    const inRow = openMs < limits.rikQuickExitMs ? (this.#inRow.get(controller) ?? 0) + 1 : 0;
    const isCertain = inRow >= limits.rikQuickExitsMax;
    this.#inRow.set(controller, isCertain ? 0 : inRow);
    return isCertain;
  }
}
