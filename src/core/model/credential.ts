import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import type { ClusterId } from "./ids.ts";
import { PRINTABLE } from "./texts.ts";

/** The rule for secrets that people choose: rejects characters that not every client can send. */
export const SECRET_RULE = {
  minLength: 1,
  maxLength: limits.secretLengthMax,
  pattern: PRINTABLE,
  hint: "one line of text",
} as const satisfies Rule;

/**
 * The use of a secret. `register`: register clusters. `cluster-secret`: act as one cluster.
 * `cluster-token`: submit to one cluster. `global-token`: submit to every cluster.
 */
export type CredentialRef =
  | { readonly kind: "register" | "global-token" }
  | { readonly kind: "cluster-secret" | "cluster-token"; readonly cluster: ClusterId };

/** Only a hash of the secret is stored: a copy of the data gives no access. */
export interface Credential {
  readonly id: CredentialRef;
  /** Opaque to the core: the code that made it checks texts against it. */
  readonly hash: string;
  readonly createdAtMs: number;
  readonly by: string;
  /** For a cluster's secret: the caller that registered the cluster may never have received it. */
  readonly isUnclaimed?: true;
}

export type HashedCredential = Pick<Credential, "id" | "hash">;

/** The credentials of a new cluster. */
export interface ClusterHashes {
  readonly secret: string;
  readonly token: string;
}

/** A cluster's name has no slash. */
export const credentialKey = (id: CredentialRef): string =>
  "cluster" in id ? `${id.kind}/${id.cluster}` : id.kind;

export const toHashedCredentials = (
  cluster: ClusterId,
  { secret, token }: ClusterHashes,
): readonly HashedCredential[] => [
  { id: { kind: "cluster-secret", cluster }, hash: secret },
  { id: { kind: "cluster-token", cluster }, hash: token },
];

export const clusterCredentialRefs = (cluster: ClusterId): readonly CredentialRef[] => [
  { kind: "cluster-secret", cluster },
  { kind: "cluster-token", cluster },
];
