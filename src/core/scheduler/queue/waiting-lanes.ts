import { isWithin, OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import type { GroupRecord } from "./group-record.ts";
import { goesBefore, type GroupOrder, type Standing } from "./group-order.ts";
import { type LaneEntry, laneGoesFirst } from "./lane.ts";
import type { PlannerWork } from "../planner-work.ts";
import type { Pool } from "../nodes/pool.ts";
import type { RequestClass } from "../request.ts";

/** What the freed nodes of the pool offer to a class. */
type Freed = Pick<Pool, "mayFit" | "mayHelp">;

/** The parked lanes of one group in one pool. */
interface WaitingGroup {
  readonly group: GroupRecord;
  readonly lanes: OrderedTree<LaneEntry>;
  /** As sorted in the tree; undefined: it is not in the tree. */
  standing: Standing | undefined;
}

/**
 * The parked lanes of a pool, in the order in which they are to be placed: by group, then by
 * priority and age. Each lane has one entry. Ranks of groups change with every placement, so they
 * are brought up to date only when the pool has free capacity to offer.
 */
export class WaitingLanes {
  readonly #work: PlannerWork;
  readonly #amountsOf: (entry: LaneEntry) => readonly number[];
  readonly #groups = new Map<GroupRecord, WaitingGroup>();
  /** Groups that are not at their limit. */
  readonly #tree: OrderedTree<WaitingGroup>;
  /** Groups that were added since the last search. */
  readonly #unsorted = new Set<WaitingGroup>();
  #changesSeen = 0;

  constructor(amountsOf: (request: RequestClass) => readonly number[], work: PlannerWork) {
    this.#work = work;
    this.#amountsOf = ({ lane }) => amountsOf(lane.request);
    const before = (a: WaitingGroup, b: WaitingGroup): boolean =>
      a.standing !== undefined && b.standing !== undefined && goesBefore(a.standing, b.standing);
    this.#tree = new OrderedTree({ before, amountsOf: ({ lanes }) => lanes.least }, work);
  }

  add(entry: LaneEntry): void {
    const { group } = entry.lane;
    let waiting = this.#groups.get(group);
    if (waiting === undefined) {
      const order = { before: laneGoesFirst, amountsOf: this.#amountsOf };
      waiting = { group, lanes: new OrderedTree(order, this.#work), standing: undefined };
      this.#groups.set(group, waiting);
      this.#unsorted.add(waiting);
    }
    this.#change(waiting, ({ lanes }) => lanes.insert(entry));
  }

  remove(entry: LaneEntry): void {
    const waiting = this.#groups.get(entry.lane.group);
    if (waiting === undefined) return;
    if (waiting.lanes.size > 1) {
      this.#change(waiting, ({ lanes }) => lanes.remove(entry));
      return;
    }
    this.#rank(waiting, undefined);
    this.#groups.delete(waiting.group);
    this.#unsorted.delete(waiting);
  }

  /** The first job of the lane changed. It requests the same, so its group keeps its position. */
  replace(before: LaneEntry, after: LaneEntry): void {
    const lanes = this.#groups.get(before.lane.group)?.lanes;
    lanes?.replace(before, after);
  }

  /** The first lane that requests at most `within` and whose class may fit. */
  first(order: GroupOrder, within: readonly number[], freed: Freed): LaneEntry | undefined {
    this.#sync(order);
    if (!isWithin(this.#tree.least, within)) return undefined;
    const first = this.#tree.min?.lanes.min;
    if (first === undefined) return undefined;
    this.#work.classesAsked++;
    const { request } = first.lane;
    if (isWithin(request.amounts, within) && freed.mayFit(request)) return first;
    return freed.mayHelp ? this.#search(within, freed) : undefined;
  }

  #search(within: readonly number[], freed: Freed): LaneEntry | undefined {
    let found: LaneEntry | undefined;
    this.#tree.first(within, ({ lanes }) => {
      lanes.first(within, (entry) => {
        this.#work.classesAsked++;
        if (freed.mayFit(entry.lane.request)) found = entry;
        return found !== undefined || !freed.mayHelp;
      });
      return found !== undefined || !freed.mayHelp;
    });
    return found;
  }

  *entries(): Iterable<LaneEntry> {
    for (const { lanes } of this.#groups.values()) yield* lanes;
  }

  /** A change of a lane changes the summary of its group in the tree. */
  #change(waiting: WaitingGroup, change: (waiting: WaitingGroup) => void): void {
    if (waiting.standing === undefined) {
      change(waiting);
      return;
    }
    this.#tree.remove(waiting);
    change(waiting);
    this.#tree.insert(waiting);
  }

  #sync(order: GroupOrder): void {
    if (this.#unsorted.size > 0) {
      for (const waiting of this.#unsorted) this.#rank(waiting, waiting.group.standing);
      this.#unsorted.clear();
    }
    const { changeCount } = order;
    const first = this.#changesSeen;
    this.#changesSeen = changeCount;
    if (first < order.oldestChange || changeCount - first > this.#groups.size) {
      for (const waiting of this.#groups.values()) this.#rank(waiting, waiting.group.standing);
      return;
    }
    for (let at = first; at < changeCount; at++) {
      const waiting = this.#groups.get(order.changed(at));
      if (waiting !== undefined) this.#rank(waiting, waiting.group.standing);
    }
  }

  #rank(waiting: WaitingGroup, standing: Standing | undefined): void {
    const ranked = standing?.isLimited === true ? undefined : standing;
    if (waiting.standing === ranked) return;
    if (waiting.standing !== undefined && ranked !== undefined && this.#tree.size === 1) {
      waiting.standing = ranked; // the only group needs no rank
      return;
    }
    if (waiting.standing !== undefined) this.#tree.remove(waiting);
    waiting.standing = ranked;
    if (ranked !== undefined) this.#tree.insert(waiting);
  }
}
