import { invariant } from "../../../lib/invariant.ts";
import { OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import { dominantShare } from "../../model/resources.ts";
import type { GroupRecord } from "./group-record.ts";
import type { Fleet } from "../nodes/fleet.ts";

/** A group's rank among groups at one moment. Replaced, never changed. */
export interface Standing {
  readonly group: GroupRecord;
  /** The dominant share that its tasks hold, divided by its weight. */
  readonly share: number;
  readonly pass: number;
  /** It is at its limit of running tasks, or is paused. */
  readonly isLimited: boolean;
}

/**
 * The group with the smallest share goes first; then the one that was served the least; then by
 * name.
 */
export function goesBefore(a: Standing, b: Standing): boolean {
  if (a.share !== b.share) return a.share < b.share;
  if (a.pass !== b.pass) return a.pass < b.pass;
  return a.group.group.id < b.group.group.id;
}

/** Pools that fell behind by more changes than this look at all their groups. */
const CHANGES_KEPT_MAX = 16_384;

/**
 * Ranks the groups that have queued jobs, and lists those that may place a task of a ready lane now.
 *
 * `touch` only notes a group; `refresh` ranks those that were noted, so that a thousand tasks of one
 * group that end together cost one change. When the capacity of the fleet changes, every share may
 * change: then all groups with queued jobs are ranked again, once per planning round.
 */
export class GroupOrder {
  readonly #fleet: Fleet;
  /** Groups with lanes. */
  readonly #queued = new Set<GroupRecord>();
  readonly #limited = new Set<GroupRecord>();
  readonly #ready: OrderedTree<Standing>;
  readonly #touched: GroupRecord[] = [];
  #capacityVersion = 0;
  /** The last groups whose standing changed, and how many changed before those. */
  #changes: GroupRecord[] = [];
  #changesBefore = 0;
  /** Grows whenever a group may have moved forward: what was found before may not be first now. */
  lowered = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
    this.#ready = new OrderedTree<Standing>({ before: goesBefore }, fleet.work);
  }

  /** Whether a group may have a ready lane to place. */
  get hasReady(): boolean {
    return this.#ready.size > 0 || this.#touched.length > 0;
  }

  get hasLimited(): boolean {
    return this.#limited.size > 0;
  }

  /** How many changes of standings there were. */
  get changeCount(): number {
    return this.#changesBefore + this.#changes.length;
  }

  get firstGroup(): GroupRecord | undefined {
    return this.#ready.min?.group;
  }

  get ready(): Iterable<Standing> {
    return this.#ready;
  }

  /** The group gets its first lane, or has lost its last. */
  queuedChanged(group: GroupRecord): void {
    if (group.lanes.size > 0) this.#queued.add(group);
    else this.#queued.delete(group);
    this.touch(group);
  }

  /** Something that the group's rank depends on may have changed. */
  touch(group: GroupRecord): void {
    if (group.isTouched) return;
    group.isTouched = true;
    this.#touched.push(group);
  }

  refresh(): void {
    const { capacityVersion } = this.#fleet;
    if (this.#capacityVersion !== capacityVersion) {
      this.#capacityVersion = capacityVersion;
      for (const group of this.#queued) this.touch(group);
    }
    for (;;) {
      const group = this.#touched.pop();
      if (group === undefined) return;
      group.isTouched = false;
      this.#rank(group);
    }
  }

  /** The number of the oldest change that is kept. */
  get oldestChange(): number {
    return this.#changesBefore;
  }

  /** The group of the change with this number. */
  changed(number: number): GroupRecord {
    const group = this.#changes[number - this.#changesBefore];
    invariant(group !== undefined, `change ${number} is kept`);
    return group;
  }

  #rank(group: GroupRecord): void {
    const before = group.standing;
    if (group.lanes.size === 0) {
      this.#limited.delete(group);
      this.#list(group, undefined);
      return;
    }
    this.#fleet.work.groupsRanked++;
    const { pass } = group;
    const { weight } = group.group;
    const share = dominantShare(group.used, this.#fleet.capacity) / weight;
    const isLimited = !group.mayPlace;
    const isSame =
      before?.share === share && before.pass === pass && before.isLimited === isLimited;
    if (!isSame) {
      const standing = { group, share, pass, isLimited };
      const isForward = before === undefined || before.isLimited || goesBefore(standing, before);
      if (isForward) this.lowered++;
      group.standing = standing;
      this.#note(group);
      if (isLimited) this.#limited.add(group);
      else this.#limited.delete(group);
    } else if (isLimited) this.#limited.add(group);
    this.#list(group, isLimited || group.ready.size === 0 ? undefined : group.standing);
  }

  #list(group: GroupRecord, standing: Standing | undefined): void {
    if (group.listed === standing) return;
    if (standing !== undefined && group.listed !== undefined) {
      this.#ready.replace(group.listed, standing);
    } else if (standing !== undefined) this.#ready.insert(standing);
    else if (group.listed !== undefined) this.#ready.remove(group.listed);
    group.listed = standing;
  }

  #note(group: GroupRecord): void {
    this.#changes.push(group);
    if (this.#changes.length < 2 * CHANGES_KEPT_MAX) return;
    this.#changesBefore += CHANGES_KEPT_MAX;
    this.#changes = this.#changes.slice(CHANGES_KEPT_MAX);
  }
}
