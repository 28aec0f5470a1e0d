import { SERVER } from "../../../core/access/principal.ts";
import type { RikAccess, RikOperations } from "../operations.ts";

/** A workload as earlier versions stored it: as a record of this door, and its instances as single jobs. */
export interface StoredWorkload {
  readonly id: string;
  /** Its owner: restOf the name of its user. */
  readonly owner: string;
  readonly kind: string;
  readonly name: string;
  /** As it was sent. */
  readonly definition: string;
}

export interface StoredTenant {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  /** A JSON text. */
  readonly value: string;
}

const WORKLOAD = "rik/workload/";
const TENANT = "rik/tenant/";

/** Tenants of REST users, durable before any client sees them; workloads that are not services yet. */
export class RestRecords {
  readonly #operations: RikOperations;
  readonly workloads = new Map<string, StoredWorkload>();
  readonly tenants = new Map<string, StoredTenant>();

  constructor(access: RikAccess) {
    this.#operations = access.as(SERVER);
  }

  async open(): Promise<void> {
    for (const { id, text } of await this.#operations.listDoorRecords("rik")) {
      if (id.startsWith(WORKLOAD)) {
        this.workloads.set(id.slice(WORKLOAD.length), JSON.parse(text) as StoredWorkload);
      } else if (id.startsWith(TENANT)) {
        this.tenants.set(id.slice(TENANT.length), JSON.parse(text) as StoredTenant);
      }
    }
  }

  async removeWorkload(id: string): Promise<void> {
    await this.#put(WORKLOAD + id, undefined);
    this.workloads.delete(id);
  }

  async putTenant(tenant: StoredTenant): Promise<void> {
    await this.#put(TENANT + tenant.id, tenant);
    this.tenants.set(tenant.id, tenant);
  }

  async removeTenant(id: string): Promise<void> {
    await this.#put(TENANT + id, undefined);
    this.tenants.delete(id);
  }

  #put(id: string, value: object | undefined): Promise<void> {
    const text = value === undefined ? undefined : JSON.stringify(value);
    return this.#operations.putDoorRecords([{ id, text }]);
  }
}
