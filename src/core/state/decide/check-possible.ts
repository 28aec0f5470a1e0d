import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { JobSpec } from "../../model/job.ts";
import { outlook } from "../../scheduler/explain.ts";
import { NodeClasses } from "../../scheduler/node-classes.ts";
import { isPossible, nodeReasons, pullingAnswer } from "../../scheduler/places.ts";
import { mayGoToClusters, type Request, requestKey } from "../../scheduler/request.ts";
import type { State } from "../state.ts";

/**
 * Throws when no node or cluster there is could ever run a task of the job. Where there are none at
 * all nothing is known yet, and the job may wait for the first.
 */
export function checkPossible(state: State, spec: JobSpec, at: number): void {
  if (isEverPossible(state, spec) || isNothingKnown(state, spec)) return;
  const field = `jobs[${at}]`;
  throw new AppError(
    "unschedulable",
    `${field}: nothing there is could ever run it: ${whyNever(state, spec).join("; ")}. ` +
      "Ask for something else, add what it needs, or allow what cannot be satisfied yet",
    { field },
  );
}

/** Asked for every job submitted: remembered until a node or a cluster changes. */
export function isEverPossible(state: State, request: Request): boolean {
  const key = requestKey(request);
  let possible = state.possible.get(key);
  if (possible === undefined) {
    if (state.possible.size >= limits.possibleKnownMax) state.possible.clear();
    state.possible.set(key, (possible = isPossible(state, request)));
  }
  return possible;
}

/** No node has joined yet, and it would not go to a cluster that pulls, or there is none. */
export const isNothingKnown = ({ nodes, clusters }: State, request: Request): boolean =>
  nodes.size === 0 && (clusters.rows.size === 0 || !mayGoToClusters(request));

const REASONS_MAX = 5;

/** Remembered as long as the request is known to be impossible: callers may try again and again. */
function whyNever(state: State, request: Request): readonly string[] {
  const key = requestKey(request);
  let why = state.whyNever.get(key);
  if (why === undefined) {
    if (state.whyNever.size >= limits.possibleKnownMax) state.whyNever.clear();
    state.whyNever.set(key, (why = findWhyNever(state, request)));
  }
  return why;
}

function findWhyNever(state: State, request: Request): readonly string[] {
  const { nodes, clusters } = state;
  const reasons = nodeReasons(outlook(request, new NodeClasses(nodes.values(), request)));
  for (const { id, kind } of clusters.inOrder) {
    if (kind !== "pulling") continue;
    reasons.push(`cluster ${id}: ${pullingAnswer(clusters, id, request).reasons.join("; or ")}`);
  }
  if (reasons.length === 0) return ["there are no nodes"];
  const more = reasons.length - REASONS_MAX;
  return more > 0 ? [...reasons.slice(0, REASONS_MAX), `and ${more} more reasons`] : reasons;
}
