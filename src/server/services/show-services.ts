import type { Service } from "../../core/model/service/service.ts";
import type { ServiceRecord, SlotRecord } from "../../core/state/services/service-record.ts";
import type { TaskView } from "../views/views.ts";
import { showSpec } from "../views/show.ts";
import type { InstanceView, ServiceRowView, ServiceView } from "./service-views.ts";

const stateOf = ({ removal, rollout }: Service): ServiceRowView["state"] =>
  removal === undefined ? rollout.kind : "removing";

export function showServiceRow(row: Service, revision: number, blocked?: string): ServiceRowView {
  const { template, rollout, removal } = row;
  const why = rollout.kind === "stopped" ? rollout.reason : undefined;
  const reason = removal?.reason ?? why ?? blocked;
  return {
    name: row.id,
    template: showSpec(template.spec),
    replicas: row.replicas,
    generation: template.generation,
    rollout: row.terms,
    state: stateOf(row),
    ...(reason === undefined ? {} : { reason }),
    former: row.former.map(({ generation }) => generation),
    createdAtMs: row.createdAtMs,
    changedBy: row.changedBy,
    revision,
  };
}

export function showService({ row, revision, sets, blocked }: ServiceRecord): ServiceView {
  const outdated = sets.outdatedDown.size + sets.outdatedUp.size;
  return {
    ...showServiceRow(row, revision, blocked),
    instances: sets.kept.size,
    running: sets.running.size,
    updated: sets.kept.size - outdated,
    ended: sets.settled.size,
  };
}

/** `task`: the task of its job; undefined: the job was removed by age, and the slot records its end. */
export function showInstance({ row }: SlotRecord, task: TaskView | undefined): InstanceView {
  const { service, name, jobId, made: generation, generation: wantedGeneration } = row;
  const { ended } = row;
  const reason = task?.reason ?? ended?.reason;
  const state = task?.state ?? (ended?.state === "succeeded" ? "succeeded" : "failed");
  return {
    service,
    name,
    jobId: String(jobId),
    state,
    generation,
    wantedGeneration,
    named: row.number === undefined,
    removing: row.isRemoved === true,
    ...(task?.node === undefined ? {} : { node: task.node }),
    ...(task?.startedAtMs === undefined ? {} : { startedAtMs: task.startedAtMs }),
    ...(task?.restarts === undefined ? {} : { restarts: task.restarts }),
    ...(reason === undefined ? {} : { reason }),
  };
}
