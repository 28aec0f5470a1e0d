import type { TaskStateName } from "../../core/model/progress.ts";
import type { RolloutTerms } from "../../core/model/service/service.ts";
import type { JobSpecView } from "../views/views.ts";

/** The instance of a service that a job is. */
export interface InstanceRefView {
  readonly service: string;
  readonly name: string;
  readonly generation: number;
}

/** What follows from the row of a service alone: what its events show. */
export interface ServiceRowView {
  readonly name: string;
  readonly template: JobSpecView;
  /** How many instances are to be there, beside those that callers name. */
  readonly replicas: number;
  readonly generation: number;
  readonly rollout: RolloutTerms;
  readonly state: "done" | "rolling" | "stopped" | "removing";
  /** Why it is stopped or removing, or why instances cannot be made. */
  readonly reason?: string;
  /** Generations that a rollback can go to, the latest last. */
  readonly former: readonly number[];
  readonly createdAtMs: number;
  readonly changedBy: string;
  readonly revision: number;
}

export interface ServiceView extends ServiceRowView {
  /** That there are, and are not being removed. */
  readonly instances: number;
  readonly running: number;
  /** With the present template, running or not. */
  readonly updated: number;
  /** By themselves, and for good. */
  readonly ended: number;
}

export interface InstanceView {
  readonly service: string;
  readonly name: string;
  readonly jobId: string;
  /** Of the task of its job. */
  readonly state: TaskStateName;
  /** Of the template that its job was made of. */
  readonly generation: number;
  readonly wantedGeneration: number;
  /** By a caller. */
  readonly named: boolean;
  readonly removing: boolean;
  readonly node?: string;
  readonly startedAtMs?: number;
  readonly restarts?: number;
  readonly reason?: string;
}

/** Lists of them. */
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
