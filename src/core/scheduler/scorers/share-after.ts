import type { NodeRecord } from "../nodes/node-record.ts";
import type { Request } from "../request.ts";

/** How full the node would be with the task on it: its fullest resource, 0 … 1. */
export function shareAfter({ needs }: Request, { used, node: { capacity } }: NodeRecord): number {
  let share = 0;
  for (const name in capacity) {
    const total = capacity[name] ?? 0;
    const taken = (used[name] ?? 0) + (needs[name] ?? 0);
    if (total > 0) share = Math.max(share, taken / total);
  }
  return share;
}
