import { isSchedulable } from "../model/node.ts";
import { fits } from "../model/resources.ts";
import { whereMatches } from "./filters/where-matches.ts";
import type { Placement } from "./plan.ts";

/**
 * The only judge of placements: rules out overcommit, double placement and nodes that are gone,
 * against the newest state and independently of how the plan was made. Returns the refusal.
 */
export function verify({ record, index, node }: Placement): string | undefined {
  const { job } = record;
  const state = record.task(index)?.state;
  if (job.closed !== undefined) return `job ${job.id} is ${job.closed.kind}`;
  if (job.waitsFor !== undefined) return `job ${job.id} waits for others`;
  if (state !== undefined && state.kind !== "waiting") return `task is ${state.kind} already`;
  if (!isSchedulable(node.node)) return `node ${node.node.id} takes no tasks`;
  if (!fits(job.spec.needs, node.free)) return `node ${node.node.id} has no room`;
  const allowed = whereMatches.check(job.spec, node);
  return allowed.kind === "yes" ? undefined : allowed.reason;
}
