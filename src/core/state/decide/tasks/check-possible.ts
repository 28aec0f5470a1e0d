import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { isShareRequest } from "../../../model/job/energy.ts";
import type { JobSpec } from "../../../model/job/job.ts";
import { describeClusterReasons } from "../../../scheduler/explain/describe.ts";
import { outlook } from "../../../scheduler/explain/explain.ts";
import { NodeClasses } from "../../../scheduler/nodes/node-classes.ts";
import { MatchTotal } from "../../../graph/match/match-total.ts";
import { Slicer } from "../../../graph/match/match-work.ts";
import { isPossible, pullingAnswer } from "../../../scheduler/explain/places.ts";
import {
  clusterRequestOf,
  mayGoToClusters,
  type Request,
  requestKey,
} from "../../../scheduler/request.ts";
import type { Submission } from "../../submission.ts";
import type { State } from "../../state.ts";

/**
 * Throws when a task of the job is unsatisfiable. While no node or cluster is registered
 * nothing is known yet, and the job may wait for the first.
 */
export function checkPossible(
  state: State,
  spec: JobSpec,
  { at, total }: { readonly at: number; readonly total: MatchTotal },
): void {
  const isPossible = knownPossible(state, spec) ?? total.count(() => isEverPossible(state, spec));
  if (isPossible || isNothingRegistered(state, spec)) return;
  const field = `jobs[${at}]`;
  throw new AppError(
    "unschedulable",
    `no registered node or cluster can run this job: ${whyNever(state, spec).join("; ")}. ` +
      "Change the request, add a node that fits, or allow it to be queued anyway",
    { field },
  );
}

/**
 * Computes for the different requests of a submission what `checkPossible` needs, in slices: one
 * command must not compare thousands of requests with thousands of graphs. Rejects when all of them
 * together take too many steps; with `isAdvice` the rest stays unknown instead.
 */
export function* preparePossible(
  state: State,
  submissions: readonly Submission[],
  { isAdvice = false }: { readonly isAdvice?: boolean } = {},
): Generator<undefined, void> {
  const total = new MatchTotal(limits.submissionStepsMax);
  const slicer = new Slicer();
  let last: JobSpec | undefined;
  for (const { spec, idempotencyKey } of submissions) {
    if (last !== undefined && isSameRequest(last, spec)) continue;
    last = spec;
    if (idempotencyKey !== undefined && state.jobsByIdempotencyKey.has(idempotencyKey)) continue;
    if (knownPossible(state, spec) !== undefined) continue;
    if (isAdvice && total.isSpent) return;
    const asked = clusterRequestOf(spec);
    if (asked !== undefined && spec.where.cluster === undefined) {
      // The planner matches all clusters in one go.
      yield* state.clusters.graphs.matchAll(asked.compiled, total, { reasons: false, slicer });
    }
    yield* slicer.next(() => total.count(() => isEverPossible(state, spec)));
  }
}

/** Called for every submitted job: cached until a node or a cluster changes. */
export function isEverPossible(state: State, request: Request): boolean {
  let possible = knownPossible(state, request);
  if (possible === undefined) {
    possible = isPossible(state, request);
    state.possible.isPossible.set(requestKey(request), possible);
  }
  return possible;
}

/** Jobs with equal requests usually share the objects of the request. */
export const isSameRequest = (one: Request, other: Request): boolean =>
  one.needs === other.needs &&
  one.request === other.request &&
  one.select === other.select &&
  one.where === other.where;

/** Undefined: not computed since a node or a cluster changed. */
export const knownPossible = (state: State, request: Request): boolean | undefined =>
  state.possible.isPossible.get(requestKey(request));

/**
 * No node has joined yet, and no pull cluster exists that the request may go to. Edges join and leave: a job with
 * energy waits for the first.
 */
export function isNothingRegistered({ nodes, clusters }: State, request: Request): boolean {
  if (isShareRequest(request.needs)) {
    for (const { node } of nodes.values()) if (node.power !== undefined) return false;
    return true;
  }
  return nodes.size === 0 && (clusters.rows.size === 0 || !mayGoToClusters(request));
}

const REASONS_MAX = 5;

/** Cached as long as the request is known to be impossible: callers may retry often. */
function whyNever(state: State, request: Request): readonly string[] {
  const key = requestKey(request);
  let why = state.possible.whyNever.get(key);
  if (why === undefined) state.possible.whyNever.set(key, (why = findWhyNever(state, request)));
  return why;
}

function findWhyNever(state: State, request: Request): readonly string[] {
  const { clusters } = state;
  const seen = outlook(request, new NodeClasses(state, request));
  const reasons = [...describeClusterReasons([{ kind: "nodes", reasons: seen.reasons }])];
  for (const { id, kind } of clusters.inOrder) {
    if (kind !== "pulling") continue;
    const why = describeClusterReasons(pullingAnswer(clusters, id, request).reasons);
    reasons.push(`cluster ${id}: ${why.join("; or ")}`);
  }
  if (reasons.length === 0) return ["there are no nodes"];
  const more = reasons.length - REASONS_MAX;
  return more > 0 ? [...reasons.slice(0, REASONS_MAX), `and ${more} more reasons`] : reasons;
}
