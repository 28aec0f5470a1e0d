import { SERVER } from "../../../core/access/principal.ts";
import { limits } from "../../../limits.ts";
import type { ServiceRowView } from "../../../server/services/service-views.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import { readStored } from "../definition.ts";
import type { RikAccess, RikOperations } from "../operations.ts";
import { CONTROLLER_LABEL, WORKLOAD_LABEL } from "../translate.ts";

/** A workload of a REST user: a service whose template has its definition. */
export interface RikWorkload {
  readonly id: string;
  /** Its owner: restOf the name of its user. */
  readonly owner: string;
  /** The name of the service. */
  readonly service: string;
  readonly kind: string;
  readonly name: string;
  /** As it was last sent. */
  readonly definition: string;
  /** Deleted; some of its instances may still be ending. */
  readonly isEnding: boolean;
  readonly revision: number;
}

/**
 * The services that are workloads of rik, by the labels of their templates. The service is the only record of a workload, so that any
 * change of the service (a rollout, `busbar services`) changes the workload.
 */
export class WorkloadBook {
  readonly #operations: RikOperations;
  readonly #byId = new Map<string, RikWorkload>();
  /** The id of a service's workload. */
  readonly #idOf = new Map<string, string>();
  #close: () => void = () => undefined;

  constructor(access: RikAccess) {
    this.#operations = access.as(SERVER);
  }

  async open(): Promise<void> {
    const follower = this.#operations.follow((event) => this.#happened(event));
    this.#close = () => follower.close();
    try {
      let pageToken: string | undefined;
      do {
        const page = { pageSize: limits.pageSizeMax, pageToken };
        const { services, nextPageToken } = await this.#operations.listServices(page);
        for (const service of services) this.put(service);
        pageToken = nextPageToken;
      } while (pageToken !== undefined);
    } catch (error) {
      follower.close();
      throw error;
    }
  }

  close(): void {
    this.#close();
  }

  get(id: string): RikWorkload | undefined {
    return this.#byId.get(id);
  }

  all(): IterableIterator<RikWorkload> {
    return this.#byId.values();
  }

  /** The workloads of one user that are not deleted. */
  of(owner: string): RikWorkload[] {
    return [...this.#byId.values()].filter((one) => one.owner === owner && !one.isEnding);
  }

  /** Events may come later than answers: the newest counts. */
  put(view: ServiceRowView): RikWorkload | undefined {
    const { name: service, template, state, revision } = view;
    const { labels = {}, workload: definition } = template;
    const { [CONTROLLER_LABEL]: owner, [WORKLOAD_LABEL]: id } = labels;
    const knownId = this.#idOf.get(service);
    const known = knownId === undefined ? undefined : this.#byId.get(knownId);
    if (known !== undefined && known.revision > revision) return known;
    const read = definition === undefined ? undefined : readStored(definition);
    if (owner === undefined || id === undefined || definition === undefined || read === undefined) {
      this.#remove(service); // a user replaced the service by another
      return undefined;
    }
    const { kind, name } = read;
    const isEnding = state === "removing";
    const workload = { id, owner, service, kind, name, definition, isEnding, revision };
    this.#byId.set(id, workload);
    this.#idOf.set(service, id);
    return workload;
  }

  #happened(event: WatchEventView): void {
    if (event.kind === "service") this.put(event.service);
    else if (event.kind === "removed" && event.what === "service") this.#remove(event.id);
  }

  #remove(service: string): void {
    const id = this.#idOf.get(service);
    this.#idOf.delete(service);
    if (id !== undefined) this.#byId.delete(id);
  }
}
