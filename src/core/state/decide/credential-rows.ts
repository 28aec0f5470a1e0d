import {
  clusterCredentialRefs,
  type ClusterHashes,
  type Credential,
  type CredentialRef,
  type HashedCredential,
  toHashedCredentials,
} from "../../model/credential.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import type { State } from "../state.ts";
import type { Written } from "../table.ts";

type CredentialWritten = Written<"credential", Credential>;

const isSecret = ({ row }: CredentialWritten): boolean => row.id.kind === "cluster-secret";

export const writtenCredentials = (
  credentials: readonly HashedCredential[],
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): CredentialWritten[] =>
  credentials.map(({ id, hash }) => ({
    table: "credential",
    row: { id, hash, createdAtMs: nowMs, by },
  }));

/** Those that a cluster is registered with. */
export const registeredCredentials = (
  cluster: ClusterId,
  credentials: { readonly hashes: ClusterHashes; readonly isUnclaimed?: boolean },
  written: { readonly by: string; readonly nowMs: number },
): Change[] =>
  writtenCredentials(toHashedCredentials(cluster, credentials.hashes), written).map((change) =>
    credentials.isUnclaimed === true && isSecret(change)
      ? { ...change, row: { ...change.row, isUnclaimed: true } }
      : change,
  );

/** Only those that exist. */
export const removedCredentials = (
  state: State,
  ids: readonly CredentialRef[],
  by: string,
): Change[] =>
  ids
    .filter((id) => state.credentials.get(id) !== undefined)
    .map((removed) => ({ table: "credential", removed, by }));

/** Credentials are removed with their cluster, and must not be valid for the next one of its name. */
export const removedWithCluster = (state: State, cluster: ClusterId, by: string): Change[] =>
  removedCredentials(state, clusterCredentialRefs(cluster), by);
