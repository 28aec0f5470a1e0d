import { checkName, type ServiceId, serviceId } from "../../core/model/ids.ts";
import type { JobSpec } from "../../core/model/job/job.ts";
import { type JobSpecInput, toJobSpec } from "../../core/model/job/job-spec.ts";
import { REASON_RULE } from "../../core/model/texts.ts";
import { readCondition } from "../../core/state/decide/if-revision.ts";
import {
  goesFirst,
  type ServiceRecord,
  type SlotRecord,
} from "../../core/state/services/service-record.ts";
import type { State } from "../../core/state/state.ts";
import { AppError, insideField, ofDocument } from "../../lib/errors.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { limits } from "../../limits.ts";
import { PAGES, pageSizeOf } from "../views/paging.ts";
import { showInstance, showService } from "./show-services.ts";
import type { InstanceView, ServiceView } from "./service-views.ts";
import type { ServiceOperations } from "../operations/audiences/service-operations.ts";
import type { OperationContext } from "../operations/create-operations.ts";
import { viewTask } from "../operations/job-operations.ts";
import { pendingReason } from "../views/pending-reason.ts";
import type { CallerOperations } from "../operations/operations.ts";

export function createServiceOperations({
  loop,
  clock,
}: OperationContext): Pick<CallerOperations, keyof ServiceOperations> {
  const show = (name: string): Promise<ServiceView> =>
    loop.read((state) => showService(requireService(state, name)));
  const showSome = (service: string, names: readonly string[]) =>
    loop.read((state, revision) => ({
      instances: names.flatMap((name) => {
        const slot = state.services.slot({ service: serviceId(service), name });
        return slot === undefined ? [] : [viewInstance(state, slot)];
      }),
      revision,
    }));
  return {
    listServices: (_caller, page) =>
      loop.read((state, revision) => {
        const after = PAGES.services.placeOf(page);
        const all = state.services.inOrder;
        const from = after === undefined ? 0 : all.findIndex(({ row }) => row.id > after);
        const { found, last } = pageFrom(from < 0 ? [] : all, from, pageSizeOf(page));
        const services = found.map(showService);
        const next = last && { nextPageToken: PAGES.services.tokenOf(last.row.id) };
        return { services, ...next, revision };
      }),

    getService: (_caller, name) => show(name),

    async applyService({ name: by }, { name, template, replicas, rollout, ...condition }) {
      const id = toServiceId(name);
      const nowMs = clock.nowMs();
      const spec = template && readTemplate(template, id);
      const only = readCondition(condition);
      await loop.submit({
        kind: "put-service",
        id,
        spec,
        replicas,
        rollout,
        by,
        nowMs,
        ...only,
      });
      return show(name);
    },

    async scaleService({ name: by }, name, replicas, condition) {
      const only = readCondition(condition);
      await loop.submit({ kind: "scale-service", id: serviceId(name), replicas, by, ...only });
      return show(name);
    },

    async rollbackService({ name: by }, name, { generation, ...condition } = {}) {
      const id = serviceId(name);
      const only = readCondition(condition);
      const nowMs = clock.nowMs();
      await loop.submit({ kind: "rollback-service", id, generation, by, nowMs, ...only });
      return show(name);
    },

    async removeService({ name: by }, name, reason, condition) {
      checkRule(reason, "reason", REASON_RULE);
      const only = readCondition(condition);
      const nowMs = clock.nowMs();
      const id = serviceId(name);
      // A service without instances is removed before it could be shown.
      const before = await show(name);
      await loop.submit({ kind: "remove-service", id, reason, by, nowMs, ...only });
      return loop.read((state, revision) => {
        const record = state.services.get(id);
        if (record !== undefined) return showService(record);
        return { ...before, state: "removing" as const, revision };
      });
    },

    listInstances: (_caller, name, page) =>
      loop.read((state, revision) => {
        const { inOrder, row } = requireService(state, name);
        const after = PAGES.instances.placeOf(page);
        const place = after && { service: row.id, name: after };
        const from = place ? firstAfter(inOrder, place) : 0;
        const { found, last } = pageFrom(inOrder, from, pageSizeOf(page));
        const instances = found.map((slot) => viewInstance(state, slot));
        const next = last && { nextPageToken: PAGES.instances.tokenOf(last.row.name) };
        return { instances, ...next, revision };
      }),

    getInstance: (_caller, service, name) =>
      loop.read((state) => {
        const slot = requireService(state, service).slots.get(name);
        if (slot !== undefined) return viewInstance(state, slot);
        throw new AppError("not_found", `service ${service} has no instance ${name}`);
      }),

    async addInstances({ name: by }, service, names) {
      const id = serviceId(service);
      await loop.submit({ kind: "add-instances", service: id, names, by, nowMs: clock.nowMs() });
      return showSome(service, names);
    },

    async removeInstances({ name: by }, service, names, reason) {
      checkRule(reason, "reason", REASON_RULE);
      const nowMs = clock.nowMs();
      const id = serviceId(service);
      await loop.submit({ kind: "remove-instances", service: id, names, reason, by, nowMs });
      return showSome(service, names);
    },
  };
}

function readTemplate(template: JobSpecInput, id: ServiceId): JobSpec {
  try {
    return toJobSpec({ ...template, name: id });
  } catch (error) {
    // Its form is that of any spec; no schema can express which specs can be instances.
    throw insideField(ofDocument(error), "template");
  }
}

const toServiceId = (name: string): ServiceId =>
  serviceId(checkName(name, "name", limits.serviceNameLengthMax));

function requireService(state: State, name: string): ServiceRecord {
  const record = state.services.get(serviceId(name));
  if (record === undefined) throw new AppError("not_found", `there is no service ${name}`);
  return record;
}

function viewInstance(state: State, slot: SlotRecord): InstanceView {
  const record = state.jobs.get(slot.row.jobId);
  const view = showInstance(slot, record && viewTask(state, record, 0));
  const isWaiting = view.state === "pending" || view.state === "waiting";
  const pending = record && isWaiting ? pendingReason(state, record) : undefined;
  if (pending === undefined) return view;
  return { ...view, reason: view.reason === undefined ? pending : `${view.reason}; ${pending}` };
}

/** The next page, and its last slot if there are more. */
function pageFrom<T>(all: readonly T[], from: number, size: number) {
  const found = all.slice(from, from + size);
  return { found, last: from + size < all.length ? found.at(-1) : undefined };
}

/** The first slot after a position; the slot at that position may be removed. */
function firstAfter(
  inOrder: readonly SlotRecord[],
  place: { readonly service: ServiceId; readonly name: string },
): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const slot = inOrder[middle];
    if (slot !== undefined && goesFirst(place, slot.row)) high = middle;
    else low = middle + 1;
  }
  return low;
}
