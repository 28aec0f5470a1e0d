import { limits } from "../../limits.ts";
import { mayHold } from "../model/node/node.ts";
import { isShareRequest } from "../model/job/energy.ts";
import { type HeldTask, isHeldTask } from "../model/job/task.ts";
import type { GroupId } from "../model/ids.ts";
import type { GroupRecord } from "./queue/group-record.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import { slotsOf } from "./nodes/task-pace.ts";
import type { Lane } from "./queue/lane.ts";
import { chooseTarget, isOfClusters, type PlanPolicy, type PlanView } from "./plan.ts";
import type { QueuedJobRecord, QueuedJobTable } from "./queue/queued-jobs.ts";

/** What it looks at. */
export interface AheadView extends PlanView {
  readonly jobs: QueuedJobTable;
  readonly groups: ReadonlyMap<GroupId, GroupRecord>;
}

/** A task to fetch ahead, or to ask for back. */
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
 * One look at the nodes where something ended: docs/design/fetch-ahead.md. Looks at the newest state,
 * so each row must be applied before the next is asked for, nothing else may be applied in between,
 * and nothing more can be placed.
 */
export class AheadRound {
  readonly #state: AheadView;
  readonly #policy: PlanPolicy;
  /** Holds nothing that is wanted back, as long as this lane goes first there. */
  #judged: { readonly record: NodeRecord; readonly lane: Lane } | undefined = undefined;

  constructor(state: AheadView, policy: PlanPolicy) {
    this.#state = state;
    this.#policy = policy;
  }

  /** A task to fetch ahead to a node, or to ask for back; undefined: all nodes were looked at. */
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
   * All that is held is judged once, not again for each task that is fetched: those are of the lane
   * that goes first, whose group only gets more by them.
   */
  #takeBack(record: NodeRecord, lane: Lane | undefined): AheadProposal | undefined {
    if (lane !== undefined && this.#judged?.record === record && this.#judged.lane === lane) {
      return undefined;
    }
    const wanted = takeBackOne(this.#state, record, lane, this.#policy);
    this.#judged = wanted === undefined && lane !== undefined ? { record, lane } : undefined;
    return wanted;
  }
}

/** The lane that goes first on this node, also if more than one task must end there for it. */
const firstLane = ({ queue }: AheadView, record: NodeRecord): Lane | undefined =>
  queue.firstFor(record);

const mayHoldMore = ({ node, held, pace }: NodeRecord): boolean =>
  mayHold(node) && held.size < pace.depth(node.capacity);

function fetchOne(state: AheadView, record: NodeRecord, lane: Lane): AheadProposal | undefined {
  if (!isHeldFor(state, lane, record)) return undefined;
  const job = lane.peek();
  const index = job?.nextIndex();
  if (job === undefined || index === undefined) return undefined;
  if (job.job.spec.service !== undefined) return undefined; // it begins where there is free capacity
  return { kind: "hold", lane, record: job, index, node: record };
}

/** Only tasks of what just ran there, of groups that may run any number of them. */
const isHeldFor = (
  { clusters }: AheadView,
  { request, group }: Lane,
  { pace }: NodeRecord,
): boolean =>
  pace.isOf(request.needs) &&
  !isShareRequest(request.needs) &&
  !isOfClusters(request, clusters) &&
  group.group.runningTasksMax === undefined;

function takeBackOne(
  state: AheadView,
  record: NodeRecord,
  lane: Lane | undefined,
  policy: PlanPolicy,
): AheadProposal | undefined {
  if (record.held.size === 0) return undefined;
  const judge = judgeOf(state, record, lane, policy);
  for (const task of record.held) {
    if (!isHeldTask(task) || task.state.takeBack !== undefined) continue;
    const reason = judge(task);
    if (reason !== undefined) return { kind: "take-back", task, reason };
  }
  return undefined;
}

/** Says why a task that the node holds is wanted back; undefined: it is not. */
function judgeOf(
  state: AheadView,
  record: NodeRecord,
  lane: Lane | undefined,
  policy: PlanPolicy,
): (task: HeldTask) => string | undefined {
  const { node, pace } = record;
  if (!mayHold(node)) return () => "its node takes no tasks";
  if (pace.needs === undefined || pace.meanMs > limits.aheadTaskMsMax) {
    return () => "tasks there no longer end soon";
  }
  if (lane === undefined) {
    const reason = placeElsewhere(state, record, policy);
    return () => reason;
  }
  if (!isHeldFor(state, lane, record)) return () => "a job that requests something else goes first";
  return (task) => {
    const held = state.jobs.get(task.jobId)?.job.spec;
    if (held === undefined || !pace.isOf(held.needs)) return "other tasks end there";
    const group = state.groups.get(held.group);
    if (group === undefined || group === lane.group) return undefined;
    if (group.group.runningTasksMax !== undefined) return "its group has a limit";
    // Groups of equal right take turns: only one that is far behind gets what others hold.
    const [theirs = 0, ours = 0] = [lane.group.standing?.share, group.standing?.share];
    return 2 * theirs < ours ? `group ${lane.group.group.id} goes first` : undefined;
  };
}

/** Nothing else is queued: a node may have room for what this one holds. */
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
  return isMore ? `node ${target.node.node.id} could begin it now` : undefined;
}
