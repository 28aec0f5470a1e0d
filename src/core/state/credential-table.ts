import { type Credential, credentialKey, type CredentialRef } from "../model/credential.ts";
import type { Change } from "./change.ts";

type CredentialChange = Extract<Change, { table: "credential" }>;

/** All credentials: one at most of each kind and cluster. Changed by State.apply. */
export class CredentialTable {
  readonly #rows = new Map<string, Credential>();
  /** Another one whenever any of them has changed. */
  version = 0;

  get(id: CredentialRef): Credential | undefined {
    return this.#rows.get(credentialKey(id));
  }

  some(fits: (row: Credential) => boolean): boolean {
    return this.#rows.values().some(fits);
  }

  /** In the order of their keys. */
  get inOrder(): readonly Credential[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  }

  apply(change: CredentialChange): void {
    this.version++;
    if ("removed" in change) this.#rows.delete(credentialKey(change.removed));
    else this.#rows.set(credentialKey(change.row.id), change.row);
  }

  isNewest(change: CredentialChange): boolean {
    if ("removed" in change) return this.get(change.removed) === undefined;
    return this.get(change.row.id) === change.row;
  }
}
