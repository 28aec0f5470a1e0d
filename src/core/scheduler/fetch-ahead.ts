import { limits } from "../../limits.ts";
import { mayHold } from "../model/node/node.ts";
import { isShareRequest } from "../model/job/energy.ts";
import { type HeldTask, isHeldTask } from "../model/job/task.ts";
import type { GroupId } from "../model/ids.ts";
import type { GroupRecord } from "./queue/group-record.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import { slotsOf } from "./nodes/run-times.ts";
import type { Lane } from "./queue/lane.ts";
import { chooseTarget, choosesClusterFirst, type PlanPolicy, type PlanView } from "./plan.ts";
import type { QueuedJobRecord, QueuedJobTable } from "./queue/queued-jobs.ts";

/** The state that it reads. */
export interface AheadView extends PlanView {
  readonly jobs: QueuedJobTable;
  readonly groups: ReadonlyMap<GroupId, GroupRecord>;
}

/** A task to fetch ahead, or to take back. */
export type AheadProposal =
  | {
      readonly kind: "hold";
      readonly lane: Lane;
      readonly record: QueuedJobRecord;
      readonly index: number;
      readonly node: NodeRecord;
    }
  | { readonly kind: "take-back"; readonly task: HeldTask; readonly reason: string };

/**
 * One pass over the nodes where something ended: docs/design/fetch-ahead.md. Reads the newest state:
 * apply each row before the next call and nothing else in between, and call it only when nothing more
 * can be placed.
 */
export class AheadRound {
  readonly #state: AheadView;
  readonly #policy: PlanPolicy;
  /** A node whose held tasks all stay, as long as this lane goes first there. */
  #reviewed: { readonly record: NodeRecord; readonly lane: Lane } | undefined = undefined;

  constructor(state: AheadView, policy: PlanPolicy) {
    this.#state = state;
    this.#policy = policy;
  }

  /** A task to fetch ahead to a node, or to take back; undefined: the pass is complete. */
  next(): AheadProposal | undefined {
    const { ahead } = this.#state.fleet;
    for (;;) {
      const record = ahead.toReview;
      if (record === undefined) return undefined;
      const proposal = this.#lookAt(record);
      if (proposal !== undefined) return proposal;
      ahead.reviewed(record);
    }
  }

  #lookAt(record: NodeRecord): AheadProposal | undefined {
    const isRoom = mayHoldMore(record);
    if (!isRoom && record.held.size === 0) return undefined;
    const lane = firstLane(this.#state, record);
    const wanted = this.#takeBack(record, lane);
    if (wanted !== undefined || !isRoom || lane === undefined) return wanted;
    return fetchOne(this.#state, record, lane);
  }

  /**
   * Checks the held tasks of a node once, not again for each fetched task: fetched tasks are of the
   * lane that goes first, and only increase the share of its group.
   */
  #takeBack(record: NodeRecord, lane: Lane | undefined): AheadProposal | undefined {
    if (lane !== undefined && this.#reviewed?.record === record && this.#reviewed.lane === lane) {
      return undefined;
    }
    const wanted = takeBackOne(this.#state, record, lane, this.#policy);
    this.#reviewed = wanted === undefined && lane !== undefined ? { record, lane } : undefined;
    return wanted;
  }
}

/** The lane that goes first on this node, even if several tasks must end there before it fits. */
const firstLane = ({ queue }: AheadView, record: NodeRecord): Lane | undefined =>
  queue.firstFor(record);

const mayHoldMore = ({ node, held, runTimes }: NodeRecord): boolean =>
  mayHold(node) && held.size < runTimes.depth(node.capacity);

function fetchOne(state: AheadView, record: NodeRecord, lane: Lane): AheadProposal | undefined {
  if (!isHeldFor(state, lane, record)) return undefined;
  const job = lane.peek();
  const index = job?.nextIndex();
  if (job === undefined || index === undefined) return undefined;
  if (job.job.spec.service !== undefined) return undefined; // it begins where there is free capacity
  return { kind: "hold", lane, record: job, index, node: record };
}

/** Only tasks with the request that just ran there, of groups without a limit. */
const isHeldFor = (
  { clusters }: AheadView,
  { request, group }: Lane,
  { runTimes }: NodeRecord,
): boolean =>
  runTimes.isOf(request.needs) &&
  !isShareRequest(request.needs) &&
  !choosesClusterFirst(request, clusters) &&
  group.group.runningTasksMax === undefined;

function takeBackOne(
  state: AheadView,
  record: NodeRecord,
  lane: Lane | undefined,
  policy: PlanPolicy,
): AheadProposal | undefined {
  if (record.held.size === 0) return undefined;
  const reasonOf = takeBackReasonOf(state, record, lane, policy);
  for (const task of record.held) {
    if (!isHeldTask(task) || task.state.takeBack !== undefined) continue;
    const reason = reasonOf(task);
    if (reason !== undefined) return { kind: "take-back", task, reason };
  }
  return undefined;
}

/** Returns why a task that the node holds must be taken back; undefined: it stays. */
function takeBackReasonOf(
  state: AheadView,
  record: NodeRecord,
  lane: Lane | undefined,
  policy: PlanPolicy,
): (task: HeldTask) => string | undefined {
  const { node, runTimes } = record;
  if (!mayHold(node)) return () => "its node gets no tasks now";
  if (runTimes.needs === undefined || runTimes.meanMs > limits.aheadTaskMsMax) {
    return () => "tasks on its node no longer end soon";
  }
  if (lane === undefined) {
    const reason = placeElsewhere(state, record, policy);
    return () => reason;
  }
  if (!isHeldFor(state, lane, record)) return () => "a job that requests something else goes first";
  return (task) => {
    const held = state.jobs.get(task.jobId)?.job.spec;
    if (held === undefined || !runTimes.isOf(held.needs))
      return "tasks with other requests end on its node";
    const group = state.groups.get(held.group);
    if (group === undefined || group === lane.group) return undefined;
    if (group.group.runningTasksMax !== undefined) return "its group has a limit";
    // Groups of equal rank take turns: only a group that is far behind gets what others hold.
    const [theirs = 0, ours = 0] = [lane.group.standing?.share, group.standing?.share];
    return 2 * theirs < ours ? `group ${lane.group.group.id} goes first` : undefined;
  };
}

/** Nothing else is queued: another node may have capacity for a task that this one holds. */
function placeElsewhere(
  state: AheadView,
  record: NodeRecord,
  policy: PlanPolicy,
): string | undefined {
  const [held] = record.held;
  const spec = held && state.jobs.get(held.jobId)?.job.spec;
  if (spec === undefined) return undefined;
  const target = state.queue.withClass(spec, (request) =>
    chooseTarget(state, request, policy, limits.candidatesPerPlacementMax),
  );
  if (target?.kind !== "node") return undefined;
  let asked = 0;
  for (const { state: now } of record.held) {
    if (now.kind === "held" && now.takeBack !== undefined) asked++;
  }
  const isMore = asked < slotsOf(spec.needs, target.node.free);
  return isMore ? `node ${target.node.node.id} could start it now` : undefined;
}
