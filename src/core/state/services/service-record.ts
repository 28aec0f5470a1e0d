import { OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import type { Revision } from "../../model/ids.ts";
import { numberIn, type Service, type Slot } from "../../model/service/service.ts";

/** A slot in memory: its row, and the progress of its job. */
export class SlotRecord {
  row: Slot;
  readonly service: ServiceRecord;
  /** Whether its job has not ended. */
  isLive = false;
  /** The time since which its task runs; undefined: it does not run. */
  runningSinceMs: number | undefined = undefined;
  /** How often its task failed by its own fault. */
  failures = 0;
  /** The `runningSinceMs` of the run that was found ready. */
  readySinceMs: number | undefined = undefined;

  constructor(row: Slot, service: ServiceRecord) {
    this.row = row;
    this.service = service;
  }

  get isReady(): boolean {
    return this.runningSinceMs !== undefined && this.runningSinceMs === this.readySinceMs;
  }
}

/** A service in memory: its row, its slots, and sets of slots by kind. Changed only by State.apply; `kindsOf` defines each set. */
export class ServiceRecord {
  row: Service;
  revision: Revision;
  readonly slots = new Map<string, SlotRecord>();
  readonly sets: Readonly<Record<SlotKind, Set<SlotRecord>>> = {
    kept: new Set(),
    ended: new Set(),
    settled: new Set(),
    running: new Set(),
    outdatedDown: new Set(),
    outdatedUp: new Set(),
    unready: new Set(),
    failing: new Set(),
  };
  /** Slots that the core named and that are not removed, largest number first. */
  readonly counted = new OrderedTree<SlotRecord>({
    before: (a, b) => (a.row.number ?? 0) > (b.row.number ?? 0),
  });
  #inOrder: readonly SlotRecord[] | undefined = undefined;

  /** Sorted by number and name. */
  get inOrder(): readonly SlotRecord[] {
    this.#inOrder ??= [...this.slots.values()].sort((a, b) => (goesFirst(a.row, b.row) ? -1 : 1));
    return this.#inOrder;
  }

  add(slot: SlotRecord): void {
    this.#inOrder = undefined;
    this.slots.set(slot.row.name, slot);
  }

  delete({ row }: SlotRecord): void {
    this.#inOrder = undefined;
    this.slots.delete(row.name);
  }

  /** No slot below this number is free. */
  freeFrom = 1;
  /** Why jobs of it were rejected; undefined: none was. */
  blocked: string | undefined = undefined;

  constructor(row: Service, revision: Revision) {
    this.row = row;
    this.revision = revision;
  }
}

type Named = Pick<Slot, "service" | "name">;

/** web-2 goes before web-10, and both before web-blue. */
export function goesFirst(a: Named, b: Named): boolean {
  const [first = Number.MAX_VALUE, second = Number.MAX_VALUE] = [numberIn(a), numberIn(b)];
  return first === second ? a.name < b.name : first < second;
}

/**
 * kept: not removed. ended: its job has ended, and its row does not record that yet. settled: its row does. running: kept, and its task
 * runs. outdated: its generation is not the wanted one of the service; up: it runs. unready, failing: of the wanted generation, during its
 * rollout or when that is stopped.
 */
export type SlotKind =
  | "kept"
  | "ended"
  | "settled"
  | "running"
  | "outdatedDown"
  | "outdatedUp"
  | "unready"
  | "failing";

/** Whether its job is of the wanted generation, and stays. */
export const isNew = ({ made, generation, isReplaced }: Slot): boolean =>
  made === generation && isReplaced !== true;

/** The kinds of a slot. The only definition of them. */
export function kindsOf(slot: SlotRecord): readonly SlotKind[] {
  const { row, isLive, runningSinceMs } = slot;
  const kinds: SlotKind[] = [];
  const isRunning = runningSinceMs !== undefined;
  if (row.ended !== undefined) kinds.push("settled");
  else if (!isLive) kinds.push("ended");
  if (row.isRemoved === true) return kinds;
  kinds.push("kept");
  if (isRunning) kinds.push("running");
  const { template, rollout, terms } = slot.service.row;
  if (row.generation !== template.generation) {
    kinds.push(isRunning ? "outdatedUp" : "outdatedDown");
    return kinds;
  }
  if (rollout.kind === "done") return kinds;
  const hasSucceeded = row.ended?.state === "succeeded";
  if (!isNew(row) || (!slot.isReady && !hasSucceeded)) kinds.push("unready");
  const hasFailed = row.ended !== undefined && !hasSucceeded;
  const failsAgain = isLive && !slot.isReady && slot.failures >= terms.failuresMax;
  if (isNew(row) && (hasFailed || failsAgain)) kinds.push("failing");
  return kinds;
}
