import { unreachable } from "../../lib/invariant.ts";
import { isEnded } from "../model/job/task.ts";
import type { Change } from "./change.ts";
import type { State } from "./state.ts";

/** Whether nothing that was applied after the change has replaced what it wrote. */
export function isNewest(state: State, change: Change): boolean {
  switch (change.table) {
    case "job":
      if ("removed" in change) return !state.jobs.has(change.removed);
      return state.jobs.getOpen(change.row.id)?.job === change.row;
    case "leftover":
      return "removed" in change || state.leftovers.has(change.row.id);
    case "task":
      // Nothing follows the end of a task but the removal of its job.
      if (isEnded(change.row.state)) return state.jobs.has(change.row.jobId);
      return state.task(change.row) === change.row;
    case "node":
      if ("removed" in change) return !state.nodes.has(change.removed);
      return state.nodes.get(change.row.id)?.node === change.row;
    case "group":
      if ("removed" in change) return !state.groups.has(change.removed);
      return state.groups.get(change.row.id)?.group === change.row;
    case "cluster":
    case "graph":
    case "subsystem":
    case "declared":
    case "status":
      return state.clusters.isNewest(change);
    case "facts":
      if ("removed" in change) return !state.facts.has(change.removed);
      return state.facts.get(change.row.id) === change.row.facts;
    case "credential":
      return state.credentials.isNewest(change);
    case "counter":
      return state.counter === change.row;
    default:
      return unreachable(change);
  }
}
