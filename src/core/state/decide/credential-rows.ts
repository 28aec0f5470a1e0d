import {
  clusterCredentialRefs,
  type CredentialRef,
  type HashedCredential,
} from "../../model/credential.ts";
import type { ClusterId } from "../../model/ids.ts";
import type { Change } from "../change.ts";
import type { State } from "../state.ts";

export const writtenCredentials = (
  credentials: readonly HashedCredential[],
  { by, nowMs }: { readonly by: string; readonly nowMs: number },
): Change[] =>
  credentials.map(({ id, hash }) => ({
    table: "credential",
    row: { id, hash, createdAtMs: nowMs, by },
  }));

/** Of those that are there. */
export const removedCredentials = (
  state: State,
  ids: readonly CredentialRef[],
  by: string,
): Change[] =>
  ids
    .filter((id) => state.credentials.get(id) !== undefined)
    .map((removed) => ({ table: "credential", removed, by }));

/** Nobody speaks for a cluster that is gone, nor for the next one of its name. */
export const removedWithCluster = (state: State, cluster: ClusterId, by: string): Change[] =>
  removedCredentials(state, clusterCredentialRefs(cluster), by);
