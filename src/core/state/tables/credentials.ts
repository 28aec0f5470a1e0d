import { type Credential, credentialKey, type CredentialRef } from "../../model/credential.ts";
import { checkCredentials } from "../checks/clusters.ts";
import { idOf, oneRow, type Removed, type Table, type Written } from "../table.ts";

export type CredentialChange =
  | Written<"credential", Credential>
  | Removed<"credential", CredentialRef>;

/** All credentials: at most one of each kind per cluster. */
export class CredentialRows {
  readonly #rows = new Map<string, Credential>();
  /** Grows whenever one of them changes. */
  version = 0;

  get(id: CredentialRef): Credential | undefined {
    return this.#rows.get(credentialKey(id));
  }

  some(fits: (row: Credential) => boolean): boolean {
    return this.#rows.values().some(fits);
  }

  /** Sorted by key. */
  get inOrder(): readonly Credential[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  }

  apply(change: CredentialChange): void {
    this.version++;
    if ("removed" in change) this.#rows.delete(credentialKey(change.removed));
    else this.#rows.set(credentialKey(change.row.id), change.row);
  }
}

export const credentialTable: Table<CredentialChange, CredentialRows> = {
  name: "credential",
  isWatched: false,
  ...oneRow((change) => `credential/${credentialKey(idOf(change))}`),
  decode: (_key, value) => ({ table: "credential", row: JSON.parse(value) as Credential }),
  newRows: () => new CredentialRows(),
  apply: (state, change) => state.credentials.apply(change),
  isNewest(state, change) {
    if ("removed" in change) return state.credentials.get(change.removed) === undefined;
    return state.credentials.get(change.row.id) === change.row;
  },
  check: checkCredentials,
  digest: (state) => state.credentials.inOrder,
};
