import { limits } from "../../../../limits.ts";
import type { NodeId } from "../../../model/ids.ts";
import { restartBackoffMs, type ServiceTerms } from "../../../model/service/service-terms.ts";
import type { Restarts, Task, TaskFailure } from "../../../model/job/task.ts";

/** The end of an attempt at a task of a service. */
export interface ServiceEnd {
  readonly failure: TaskFailure;
  /** Its node, if it was on one. */
  readonly nodeId: NodeId | undefined;
  /** From its start, or from its assignment, until its end or the last sign of life of its node. */
  readonly lastedMs: number;
  /** Of a lost attempt: whether it may have taken its node down. */
  readonly mayBeCause: boolean;
}

/** The next step: another attempt after a while, or the end of the task. */
export type AfterEnd =
  | { readonly kind: "again"; readonly waitMs: number; readonly restarts: Restarts | undefined }
  | { readonly kind: "over"; readonly failure: TaskFailure };

const NONE: Restarts = { count: 0, inRow: 0 };

const isSuccess = (failure: TaskFailure): boolean =>
  failure.kind === "exited" && failure.exitCode === 0;

/** Whether a task that has ended by itself is started again. */
export const isRestarted = ({ restart }: ServiceTerms, failure: TaskFailure): boolean =>
  restart === "always" || (restart === "on-failure" && !isSuccess(failure));

/**
 * A task of a service ends by itself: its policy starts it again, with a growing backoff until it has
 * run well. It is lost with its node: it is placed again at once, unless it seems to be the cause of
 * lost nodes.
 */
export function afterServiceEnd(
  terms: ServiceTerms,
  { restarts }: Task,
  end: ServiceEnd,
): AfterEnd {
  const before = restarts ?? NONE;
  const hasRunWell = end.lastedMs >= terms.resetAfterMs;
  const { kind } = end.failure;
  if (kind === "lost" || kind === "vanished") return afterLoss(terms, restarts, end);
  // No fault of the task: the caller decides how long it waits.
  if (kind === "node-fault") return { kind: "again", waitMs: 0, restarts };
  if (!isRestarted(terms, end.failure)) return { kind: "over", failure: end.failure };
  const inRow = hasRunWell ? 1 : before.inRow + 1;
  const tookDown = end.lastedMs < limits.poisonWithinMs ? before.tookDown : undefined;
  const after = { count: before.count + 1, inRow, ...(tookDown && { tookDown }) };
  return { kind: "again", waitMs: restartBackoffMs(terms, inRow), restarts: after };
}

function afterLoss(
  terms: ServiceTerms,
  before: Restarts | undefined,
  { failure, nodeId, lastedMs, mayBeCause }: ServiceEnd,
): AfterEnd {
  if (!mayBeCause) return { kind: "again", waitMs: 0, restarts: before };
  if (nodeId === undefined || lastedMs >= limits.poisonWithinMs) {
    const { tookDown: _cleared, ...restarts } = before ?? NONE;
    return { kind: "again", waitMs: 0, restarts: before && restarts };
  }
  const tookDown = [...(before?.tookDown ?? []), nodeId];
  const nodes = [...new Set(tookDown)];
  if (nodes.length >= limits.poisonNodesMax || tookDown.length >= limits.poisonLossesMax) {
    const message =
      `${"message" in failure ? failure.message : ""}; within ${limits.poisonWithinMs / 1_000} s of its start it took ` +
      `down ${nodes.join(", ")}${nodes.length < tookDown.length ? `, ${tookDown.length} times in all` : ""}` +
      ": it is not started again";
    return { kind: "over", failure: { kind: "lost", message } };
  }
  // The first may be chance; a task that takes down one node after the other must not do so at once.
  const waitMs = tookDown.length === 1 ? 0 : restartBackoffMs(terms, tookDown.length - 1);
  return { kind: "again", waitMs, restarts: { ...(before ?? NONE), tookDown } };
}
