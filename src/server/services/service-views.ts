import type { TaskStateName } from "../../core/model/progress.ts";
import type { RolloutTerms } from "../../core/model/service/service.ts";
import type { JobSpecView } from "../views/views.ts";

/** The instance of a service that a job represents. */
export interface InstanceRefView {
  readonly service: string;
  readonly name: string;
  readonly generation: number;
}

/** The fields that follow from the row of a service alone: its events show these. */
export interface ServiceRowView {
  readonly name: string;
  readonly template: JobSpecView;
  /** The wanted number of instances, in addition to those that callers name. */
  readonly replicas: number;
  readonly generation: number;
  readonly rollout: RolloutTerms;
  readonly state: "done" | "rolling" | "stopped" | "removing";
  /** Why it is stopped or removing, or why instances cannot be made. */
  readonly reason?: string;
  /** Generations to which a rollback is possible, the latest last. */
  readonly former: readonly number[];
  readonly createdAtMs: number;
  readonly changedBy: string;
  readonly revision: number;
}

export interface ServiceView extends ServiceRowView {
  /** Existing instances that are not being removed. */
  readonly instances: number;
  readonly running: number;
  /** Instances with the present template, running or not. */
  readonly updated: number;
  /** Ended by themselves, for good. */
  readonly ended: number;
}

export interface InstanceView {
  readonly service: string;
  readonly name: string;
  readonly jobId: string;
  /** The state of its job's task. */
  readonly state: TaskStateName;
  /** The generation of the template that its job was made from. */
  readonly generation: number;
  readonly wantedGeneration: number;
  /** Named by a caller. */
  readonly named: boolean;
  readonly removing: boolean;
  readonly node?: string;
  readonly startedAtMs?: number;
  readonly restarts?: number;
  readonly reason?: string;
}

/** Lists of services and instances. */
export interface ServicePage {
  readonly services: readonly ServiceView[];
  readonly nextPageToken?: string;
  readonly revision: number;
}

export interface InstancePage {
  readonly instances: readonly InstanceView[];
  readonly nextPageToken?: string;
  readonly revision: number;
}
