import { OrderedTree } from "../../../lib/collections/ordered-tree.ts";
import type { JobId, Revision, ServiceId } from "../../model/ids.ts";
import type { InstanceRef } from "../../model/job/job.ts";
import { numberIn, type Service, type Slot } from "../../model/service/service.ts";
import type { JobTable } from "../jobs/job-table.ts";
import { isNew, kindsOf, ServiceRecord, SlotRecord } from "./service-record.ts";

/** A change of a service that is due by time alone. */
interface Alarm {
  readonly atMs: number;
  readonly key: string;
  readonly service: ServiceRecord;
  /** The slot whose task has run long enough by then; undefined: retry jobs that were rejected. */
  readonly slot: SlotRecord | undefined;
}

const isEndedState = (state: string): boolean =>
  state !== "pending" && state !== "running" && state !== "accepted";

/**
 * All services and their slots. Follows State.apply: a changed row or job updates the sets of its slot and marks its service for
 * `nextServiceStep`.
 */
export class ServiceTable {
  readonly #jobs: JobTable;
  readonly #byId = new Map<ServiceId, ServiceRecord>();
  /** Services that changed since `nextServiceStep` last looked at them. */
  readonly #changed = new Set<ServiceRecord>();
  readonly #alarms = new OrderedTree<Alarm>({
    before: (a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.key < b.key),
  });
  readonly #alarmOf = new Map<string, Alarm>();
  slotCount = 0;

  constructor(jobs: JobTable) {
    this.#jobs = jobs;
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: ServiceId): ServiceRecord | undefined {
    return this.#byId.get(id);
  }

  slot({ service, name }: Pick<InstanceRef, "service" | "name">): SlotRecord | undefined {
    return this.#byId.get(service)?.slots.get(name);
  }

  all(): Iterable<ServiceRecord> {
    return this.#byId.values();
  }

  /** Sorted by name. */
  get inOrder(): readonly ServiceRecord[] {
    return [...this.#byId.values()].sort((a, b) => (a.row.id < b.row.id ? -1 : 1));
  }

  put(row: Service, revision: Revision): void {
    let record = this.#byId.get(row.id);
    if (record === undefined) {
      record = new ServiceRecord(row, revision);
      this.#byId.set(row.id, record);
    } else {
      const before = record.row;
      record.row = row;
      record.revision = revision;
      const isSame = before.template === row.template && before.terms === row.terms;
      const isAsBefore = isSame && before.rollout.kind === row.rollout.kind;
      if (!isAsBefore) for (const slot of record.slots.values()) this.#place(slot);
    }
    this.unblock(record);
    this.#changed.add(record);
  }

  remove(id: ServiceId): void {
    const record = this.#byId.get(id);
    if (record === undefined) return;
    this.unblock(record);
    this.#changed.delete(record);
    this.#byId.delete(id);
  }

  putSlot(row: Slot): void {
    const service = this.#byId.get(row.service);
    if (service === undefined) return;
    let slot = service.slots.get(row.name);
    if (slot === undefined) {
      slot = new SlotRecord(row, service);
      service.add(slot);
      this.slotCount++;
    } else {
      this.#count(slot, -1);
      slot.row = row;
    }
    this.#count(slot, 1);
    this.#look(slot);
  }

  removeSlot(service: ServiceId, name: string): void {
    const slot = this.slot({ service, name });
    if (slot === undefined) return;
    this.#count(slot, -1);
    for (const set of Object.values(slot.service.sets)) set.delete(slot);
    this.#silence(slot.row.id);
    const number = numberIn(slot.row);
    if (number !== undefined) slot.service.freeFrom = Math.min(slot.service.freeFrom, number);
    slot.service.delete(slot);
    this.slotCount--;
    this.#changed.add(slot.service);
  }

  /** A job of a service, or its task, changed. */
  jobMoved(id: JobId, instance: InstanceRef): void {
    const slot = this.slot(instance);
    if (slot?.row.jobId === id) this.#look(slot);
  }

  /** All rows are read back. */
  begin(): void {
    for (const record of this.#byId.values()) {
      this.#changed.add(record);
      for (const slot of record.slots.values()) this.#look(slot);
    }
  }

  /** Jobs of the service were rejected: `nextServiceStep` retries at that time. */
  block(record: ServiceRecord, reason: string, untilMs: number): void {
    record.blocked = reason;
    this.#ring({ atMs: untilMs, key: record.row.id, service: record, slot: undefined });
  }

  unblock(record: ServiceRecord): void {
    record.blocked = undefined;
    this.#silence(record.row.id);
  }

  /** The next changed service; returns each once. */
  nextChanged(): ServiceRecord | undefined {
    for (const record of this.#changed) {
      this.#changed.delete(record);
      return record;
    }
    return undefined;
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  get nextAlarmMs(): number | undefined {
    return this.#alarms.min?.atMs;
  }

  /** Processes alarms that are due: slots that have run long enough become ready. */
  processDueAlarms(nowMs: number): void {
    for (let due = this.#alarms.min; due !== undefined && due.atMs <= nowMs;) {
      this.#silence(due.key);
      const { slot, service } = due;
      if (slot !== undefined) {
        slot.readySinceMs = slot.runningSinceMs;
        this.#place(slot);
      }
      this.#changed.add(service);
      due = this.#alarms.min;
    }
  }

  /** Reads the progress of its job. */
  #look(slot: SlotRecord): void {
    const state = this.#jobs.stateOf(slot.row.jobId);
    slot.isLive = state !== undefined && !isEndedState(state);
    const task = slot.isLive ? this.#jobs.getOpen(slot.row.jobId)?.task(0) : undefined;
    const now = task?.state;
    const runs = now?.kind === "running" || now?.kind === "accepted";
    slot.runningSinceMs = runs ? now.startedAtMs : undefined;
    slot.failures = task?.failures ?? 0;
    this.#place(slot);
    this.#changed.add(slot.service);
  }

  #place(slot: SlotRecord): void {
    const { sets, row } = slot.service;
    for (const set of Object.values(sets)) set.delete(slot);
    for (const kind of kindsOf(slot)) sets[kind].add(slot);
    const { runningSinceMs: since } = slot;
    // It runs, and is not ready only because it has not run for long enough.
    const isWarming = sets.unready.has(slot) && isNew(slot.row) && !slot.isReady;
    if (since === undefined || !isWarming) this.#silence(slot.row.id);
    else {
      const atMs = since + row.terms.minReadyMs;
      this.#ring({ atMs, key: slot.row.id, service: slot.service, slot });
    }
  }

  /** Adds it to, or removes it from, the slots that the core named. */
  #count(slot: SlotRecord, by: 1 | -1): void {
    const { row, service } = slot;
    if (row.number === undefined) return;
    if (row.isRemoved === true) service.freeFrom = Math.min(service.freeFrom, row.number);
    else if (by === 1) service.counted.insert(slot);
    else service.counted.remove(slot);
  }

  #ring(alarm: Alarm): void {
    this.#silence(alarm.key);
    this.#alarmOf.set(alarm.key, alarm);
    this.#alarms.insert(alarm);
  }

  #silence(key: string): void {
    const alarm = this.#alarmOf.get(key);
    if (alarm === undefined) return;
    this.#alarmOf.delete(key);
    this.#alarms.remove(alarm);
  }
}
