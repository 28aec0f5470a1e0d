import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import type { RolloutInput } from "../../../core/model/service/service.ts";
import type {
  InstancePage,
  InstanceView,
  ServicePage,
  ServiceView,
} from "../../services/service-views.ts";
import type { ChangeCondition, Page } from "../operations.ts";

/** The wanted state of a service; absent fields stay. */
export interface ServiceInput extends ChangeCondition {
  readonly name: string;
  /** Required for a new service. */
  readonly template?: JobSpecInput | undefined;
  /** How many instances the core names and maintains; for a new service the default is 0. */
  readonly replicas?: number | undefined;
  readonly rollout?: RolloutInput | undefined;
}

/** The template to roll back to. */
export interface RollbackInput extends ChangeCondition {
  /** Absent: the one that was rolled out before. */
  readonly generation?: number | undefined;
}

/** Operations on services: docs/design/services.md. */
export interface ServiceOperations {
  listServices(page: Page): Promise<ServicePage>;
  getService(name: string): Promise<ServiceView>;
  applyService(service: ServiceInput): Promise<ServiceView>;
  scaleService(name: string, replicas: number, condition?: ChangeCondition): Promise<ServiceView>;
  rollbackService(name: string, to?: RollbackInput): Promise<ServiceView>;
  /** Ends all instances; the service is removed with the last of them. An empty reason means none. */
  removeService(name: string, reason: string, condition?: ChangeCondition): Promise<ServiceView>;
  listInstances(service: string, page: Page): Promise<InstancePage>;
  getInstance(service: string, name: string): Promise<InstanceView>;
  /** Adds all or none; instances that exist and have not ended for good stay as they are. */
  addInstances(service: string, names: readonly string[]): Promise<InstancePage>;
  /** Instances that are removed already are not in the answer. */
  removeInstances(service: string, names: readonly string[], reason: string): Promise<InstancePage>;
}
