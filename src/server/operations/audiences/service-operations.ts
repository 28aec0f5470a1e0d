import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import type { RolloutInput } from "../../../core/model/service/service.ts";
import type {
  InstancePage,
  InstanceView,
  ServicePage,
  ServiceView,
} from "../../services/service-views.ts";
import type { ChangeCondition, Page } from "../operations.ts";

/** A service as it is to be; what is absent stays as it is. */
export interface ServiceInput extends ChangeCondition {
  readonly name: string;
  /** Needed for a new one. */
  readonly template?: JobSpecInput | undefined;
  /** How many instances the core names and keeps; absent of a new one: 0. */
  readonly replicas?: number | undefined;
  readonly rollout?: RolloutInput | undefined;
}

/** Which template to go back to. */
export interface RollbackInput extends ChangeCondition {
  /** Absent: the one that was rolled out before. */
  readonly generation?: number | undefined;
}

/** What those ask for who keep services running: docs/design/services.md. */
export interface ServiceOperations {
  listServices(page: Page): Promise<ServicePage>;
  getService(name: string): Promise<ServiceView>;
  applyService(service: ServiceInput): Promise<ServiceView>;
  scaleService(name: string, replicas: number, condition?: ChangeCondition): Promise<ServiceView>;
  rollbackService(name: string, to?: RollbackInput): Promise<ServiceView>;
  /** Ends all instances; it goes with the last of them. An empty reason: none is given. */
  removeService(name: string, reason: string, condition?: ChangeCondition): Promise<ServiceView>;
  listInstances(service: string, page: Page): Promise<InstancePage>;
  getInstance(service: string, name: string): Promise<InstanceView>;
  /** All or none; those that exist and have not ended for good stay as they are. */
  addInstances(service: string, names: readonly string[]): Promise<InstancePage>;
  /** Those that are gone already are not in the answer. */
  removeInstances(service: string, names: readonly string[], reason: string): Promise<InstancePage>;
}
