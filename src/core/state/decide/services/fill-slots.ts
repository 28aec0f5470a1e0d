import { limits } from "../../../../limits.ts";
import type { JobId } from "../../../model/ids.ts";
import {
  type Service,
  type Slot,
  slotIdOf,
  specOfInstance,
  steadyGeneration,
  templateOf,
} from "../../../model/service/service.ts";
import { visible } from "../../../model/texts.ts";
import type { Change } from "../../change.ts";
import type { SlotRecord } from "../../services/service-record.ts";
import type { State } from "../../state.ts";
import { cancelJob } from "../tasks/cancel-job.ts";
import { submitJobs } from "../tasks/submit-jobs.ts";

/** A slot that needs a new job: an existing one whose job has ended, or a new one. */
export interface EmptySlot {
  readonly name: string;
  /** For a slot that the core names. */
  readonly number?: number | undefined;
  readonly generation: number;
}

/**
 * Submits jobs for new slots and for slots whose jobs have ended; rejected like any submission, all or
 * none.
 */
export function fillSlots(
  state: State,
  service: Service,
  slots: readonly EmptySlot[],
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): { readonly changes: readonly Change[]; readonly jobIds: readonly JobId[] } {
  if (slots.length === 0) return { changes: [], jobIds: [] };
  const { id } = service;
  const submissions = slots.map(({ name, generation: wanted }) => {
    const template = templateOf(service, wanted) ?? service.template;
    const { generation } = template;
    const instance = { service: id, name, generation };
    return { spec: specOfInstance(template, name), idempotencyKey: undefined, instance };
  });
  const { changes, answer } = submitJobs(state, { kind: "submit-jobs", submissions, by, nowMs });
  const rows = slots.map(({ name, number }, at): Change => {
    const { generation } = submissions[at]?.instance ?? { generation: 0 };
    const jobId = answer[at]?.id as JobId;
    const slot = { id: slotIdOf(id, name), service: id, name, generation, jobId, made: generation };
    return { table: "slot", row: number === undefined ? slot : { ...slot, number } };
  });
  return { changes: [...changes, ...rows], jobIds: answer.map((one) => one.id) };
}

/** A slot whose job has ended, or ended for good, as one that needs another. */
export const emptied = ({ row: { name, number, generation } }: SlotRecord): EmptySlot => ({
  name,
  number,
  generation,
});

/** A new slot has the generation that was rolled out last. */
export const newSlot = (service: Service, name: string, number?: number): EmptySlot => ({
  name,
  number,
  generation: steadyGeneration(service),
});

/** Who ends a job, why and when. */
export interface EndOrder {
  readonly reason: string;
  readonly by: string;
  readonly nowMs: number;
}

/** Ends the job of a slot, and writes the slot's row. */
export function stopSlot(state: State, row: Slot, order: EndOrder): readonly Change[] {
  const reason = visible(order.reason, limits.reasonLengthMax);
  const { jobId } = row;
  const job = state.jobs.get(jobId);
  const command = { kind: "cancel-job", jobId, index: undefined, ...order, reason } as const;
  const cancelled = job === undefined ? [] : cancelJob(state, command).changes;
  return [{ table: "slot", row }, ...cancelled];
}

/** Removes a slot: at once if its job has ended, otherwise when it ends. */
export function removeSlot(state: State, slot: SlotRecord, order: EndOrder): readonly Change[] {
  if (!slot.isLive) return [{ table: "slot", removed: slot.row.id }];
  if (slot.row.isRemoved === true) return [];
  return stopSlot(state, { ...slot.row, isRemoved: true }, order);
}

/** Gives the slot a job of this generation after its present job has ended. */
export function replaceJob(
  state: State,
  slot: SlotRecord,
  generation: number,
  order: EndOrder,
): readonly Change[] {
  const { ended: _ended, ...rest } = slot.row;
  const row: Slot = { ...rest, generation, isReplaced: true };
  return slot.isLive ? stopSlot(state, row, order) : [{ table: "slot", row }];
}
