import { isJobEnded } from "../../model/progress.ts";
import { kindsOf, type ServiceRecord, type SlotKind } from "../services/service-record.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** Slots, their jobs and their sets, computed again from the rows. */
export function checkServices(state: State, jobs: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const open = new Map<string, SeenJob[]>();
  const byId = new Map(jobs.map((seen) => [seen.job.id, seen]));
  for (const seen of jobs) {
    const { instance } = seen.job;
    if (instance === undefined || isJobEnded(seen.progress)) continue;
    const place = `${instance.service}/${instance.name}`;
    open.set(place, [...(open.get(place) ?? []), seen]);
  }
  let slots = 0;
  for (const record of state.services.all()) {
    slots += record.slots.size;
    wrong.push(...checkRecord(record, byId));
  }
  if (slots !== state.services.slotCount) wrong.push(`${slots} slots are counted as others`);
  for (const [place, filling] of open) {
    const [service = "", name = ""] = place.split("/");
    const slot = state.services.get(service as never)?.slots.get(name);
    const ids = filling.map(({ job }) => job.id);
    if (ids.length > 1) wrong.push(`slot ${place} is filled by jobs ${ids.join(" and ")}`);
    if (slot?.row.jobId !== ids[0]) wrong.push(`job ${ids[0]} fills slot ${place} unknown to it`);
  }
  return wrong;
}

function checkRecord(record: ServiceRecord, jobs: ReadonlyMap<number, SeenJob>): string[] {
  const wrong: string[] = [];
  const { id } = record.row;
  const counted = [...record.counted].map(({ row }) => row.number ?? 0);
  const expected: number[] = [];
  for (const slot of record.slots.values()) {
    const { row } = slot;
    if (row.number !== undefined && row.isRemoved !== true) expected.push(row.number);
    const seen = jobs.get(row.jobId);
    const isLive = seen !== undefined && !isJobEnded(seen.progress);
    if (isLive !== slot.isLive) wrong.push(`slot ${row.id} takes its job for another state`);
    if (isLive && row.ended !== undefined) wrong.push(`slot ${row.id} is settled, its job is not`);
    const state = seen?.rows[0]?.state;
    const runs = state?.kind === "running" || state?.kind === "accepted";
    const sinceMs = isLive && runs ? state.startedAtMs : undefined;
    if (sinceMs !== slot.runningSinceMs) wrong.push(`slot ${row.id} runs since another time`);
    const kinds = new Set(kindsOf(slot));
    for (const [kind, set] of Object.entries(record.sets)) {
      if (set.has(slot) !== kinds.has(kind as SlotKind)) {
        wrong.push(`slot ${row.id} is wrongly in or out of the set ${kind}`);
      }
    }
  }
  expected.sort((a, b) => b - a);
  if (expected.join() !== counted.join()) wrong.push(`service ${id} counts ${counted.join()}`);
  for (let number = 1; number < record.freeFrom; number++) {
    const slot = record.slots.get(`${id}-${number}`);
    const isRevivable = slot?.row.isRemoved === true && slot.row.number !== undefined;
    if (slot === undefined || isRevivable) {
      wrong.push(`service ${id} passes over the free number ${number}`);
    }
  }
  for (const [kind, set] of Object.entries(record.sets)) {
    for (const slot of set) {
      if (record.slots.get(slot.row.name) !== slot) wrong.push(`${kind} of ${id} has a stranger`);
    }
  }
  return wrong;
}
