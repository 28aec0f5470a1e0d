import { randomUUID } from "node:crypto";
import type { RikPrincipal } from "../../../core/access/principal.ts";
import { readWorkload } from "../../../core/model/job/workload/workload.ts";
import { instancesAtOnce } from "../../../core/model/service/instances-at-once.ts";
import type { RolloutInput } from "../../../core/model/service/service.ts";
import { AppError, unprocessable } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ServiceView } from "../../../server/services/service-views.ts";
import type { RikInstance } from "../controllers/instance.ts";
import type { InstanceBook } from "../controllers/instance-book.ts";
import type { RikAccess, RikOperations } from "../operations.ts";
import { toTemplate } from "../translate.ts";
import type { RikWorkload, WorkloadBook } from "./workload-book.ts";

export interface WorkloadsOptions {
  readonly operations: RikAccess;
  readonly workloads: WorkloadBook;
  readonly book: InstanceBook;
}

/** The requested state of a workload. */
export interface WorkloadUpdate {
  readonly definition: string;
  readonly rollout: RolloutInput;
}

/** The operations of REST users on workloads and their instances, as services of Busbar. */
export class Workloads {
  readonly #options: WorkloadsOptions;
  /** Names that are being created: two requests at once do not get the same. */
  readonly #creating = new Set<string>();

  constructor(options: WorkloadsOptions) {
    this.#options = options;
  }

  /** Undefined: the name is in use. */
  async create(owner: string, definition: string, by: RikPrincipal): Promise<string | undefined> {
    const { kind, name } = readWorkload(definition);
    const { workloads } = this.#options;
    const key = JSON.stringify([owner, kind, name]);
    const isUsed = workloads.of(owner).some((one) => one.kind === kind && one.name === name);
    if (isUsed || this.#creating.has(key)) return undefined;
    this.#creating.add(key);
    try {
      const id = randomUUID();
      await this.adopt({ id, owner, name, definition }, by);
      return id;
    } finally {
      this.#creating.delete(key);
    }
  }

  /** Creates the service of a workload; an existing one stays. */
  async adopt(
    { id, owner, name, definition }: Pick<RikWorkload, "id" | "owner" | "name" | "definition">,
    by: RikPrincipal,
  ): Promise<void> {
    const template = toTemplate({ controller: owner, workloadId: id, definition });
    const service = { name: serviceNameOf(name, id), template, ifRevision: 0 };
    try {
      this.#options.workloads.put(await this.#as(by).applyService(service));
    } catch (error) {
      if (this.#options.workloads.get(id) === undefined) throw error;
    }
  }

  /** Rolls another definition out: instances are replaced one by one. */
  async update(
    { id, owner, service, kind, name }: RikWorkload,
    { definition, rollout }: WorkloadUpdate,
    by: RikPrincipal,
  ): Promise<ServiceView> {
    const next = readWorkload(definition);
    if (next.kind !== kind) throw unprocessable("kind", `a workload keeps its kind, ${kind}`);
    if (next.name !== name) throw unprocessable("name", `a workload keeps its name, ${name}`);
    const template = toTemplate({ controller: owner, workloadId: id, definition });
    return this.#changed(await this.#as(by).applyService({ name: service, template, rollout }));
  }

  async rollback(
    { service }: RikWorkload,
    generation: number | undefined,
    by: RikPrincipal,
  ): Promise<ServiceView> {
    return this.#changed(await this.#as(by).rollbackService(service, { generation }));
  }

  status({ service }: RikWorkload, by: RikPrincipal): Promise<ServiceView> {
    return this.#as(by).getService(service);
  }

  /** With all of its instances: those that ended by themselves are removed with the event. */
  async remove({ service }: RikWorkload, by: RikPrincipal, reason: string): Promise<void> {
    this.#changed(await this.#as(by).removeService(service, reason));
  }

  /** Adds as many as one command allows together, or none of these. */
  async add(workload: RikWorkload, names: readonly string[], by: RikPrincipal): Promise<void> {
    const { book } = this.#options;
    const { id: workloadId, owner: controller, service, definition } = workload;
    const added = names.map((id) =>
      book.add({ controller, id, workloadId, service, definition, home: undefined }),
    );
    const adding = this.#add(workload, added, by);
    for (const instance of added) instance.submitting = adding;
    try {
      await adding;
    } finally {
      for (const instance of added) if (instance.jobId === undefined) book.drop(instance);
    }
  }

  /** Ends them; those that have ended by themselves are removed at once. */
  async destroy(
    instances: readonly RikInstance[],
    by: RikPrincipal,
    reason: string,
  ): Promise<void> {
    const { book } = this.#options;
    const byService = Map.groupBy(instances, ({ service }) => service);
    for (const [service, some] of byService) {
      if (service === undefined) continue;
      for (const part of partsOf(some)) {
        await Promise.allSettled(part.flatMap(({ submitting }) => submitting ?? []));
        const names = part.map(({ id }) => id);
        await this.#removeInstances(this.#as(by), service, names, reason);
        for (const instance of part) {
          instance.isGoing = true;
          if (instance.isOver) book.drop(instance);
        }
      }
    }
  }

  async #add(
    { service, definition }: RikWorkload,
    added: readonly RikInstance[],
    by: RikPrincipal,
  ): Promise<void> {
    const { book } = this.#options;
    // A template has the definition as a text, in which quotes are escaped, and some fields of its own.
    const atOnce = instancesAtOnce(2 * definition.length + limits.rikTemplateCharsMax);
    for (const part of partsOf(added, atOnce)) {
      const names = part.map(({ id }) => id);
      const { instances } = await this.#as(by).addInstances(service, names);
      const made = new Map(instances.map(({ name, jobId }) => [name, jobId]));
      for (const instance of part) {
        const jobId = made.get(instance.id);
        if (jobId !== undefined && instance.jobId === undefined) book.submitted(instance, jobId);
      }
    }
  }

  /** Removed slots need not be removed again. */
  async #removeInstances(
    operations: RikOperations,
    service: string,
    names: readonly string[],
    reason: string,
  ): Promise<void> {
    try {
      await operations.removeInstances(service, names, reason);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "not_found") throw error;
      if (names.length === 1) return;
      for (const name of names) await this.#removeInstances(operations, service, [name], reason);
    }
  }

  #as(by: RikPrincipal): RikOperations {
    return this.#options.operations.as(by);
  }

  #changed(view: ServiceView): ServiceView {
    this.#options.workloads.put(view);
    return view;
  }
}

function* partsOf<T>(
  all: readonly T[],
  most: number = limits.instancesPerCallMax,
): Generator<readonly T[], void> {
  for (let from = 0; from < all.length; from += most) yield all.slice(from, from + most);
}

const NAME_LENGTH_MAX = 60;

/** Names of workloads may contain anything, and two users may have the same. */
export function serviceNameOf(name: string, id: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, NAME_LENGTH_MAX);
  const short = plain.replaceAll(/^[-._]+|[-._]+$/g, "");
  return `${short === "" ? "workload" : short}-${id.slice(0, 8)}`;
}
