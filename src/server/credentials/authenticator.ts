import { type Principal, REGISTRAR, type Submitter } from "../../core/access/principal.ts";
import { clusterId } from "../../core/model/ids.ts";
import type { Credentials } from "./credentials.ts";

/** Tokens that were valid, and whether they still are. */
export interface ProvenSubmitter {
  readonly principal: Submitter;
  /** Whether no credential or cluster has changed since the check. */
  holds(): boolean;
}

/**
 * Turns the credentials of callers into principals. Undefined: the credentials are wrong. A check for an unknown
 * cluster takes the same time. Rejects with `exhausted` when too many checks run at once.
 */
export interface Authenticator {
  /** Checks the secret that lets clusters register. */
  registrar(secret: string): Promise<Principal | undefined>;
  /** Checks the secret of a cluster. */
  cluster(cluster: string, secret: string): Promise<Principal | undefined>;
  /** Checks one token for each cluster; a global token, if there is one, is valid for every cluster. */
  submitter(
    shown: readonly { readonly cluster: string; readonly token: string }[],
  ): Promise<ProvenSubmitter | undefined>;
  /** Checks a text that may be the token or the secret of some of these clusters. */
  bearer(text: string, clusters: readonly string[]): Promise<Submitter>;
}

export function createAuthenticator(credentials: Credentials): Authenticator {
  const isTokenOf = (cluster: string, secret: string): Promise<boolean> =>
    credentials.isValid({ kind: "cluster-token", cluster: clusterId(cluster) }, secret);
  const isSecretOf = (cluster: string, secret: string): Promise<boolean> =>
    credentials.isValid({ kind: "cluster-secret", cluster: clusterId(cluster) }, secret);
  return {
    async registrar(secret) {
      return (await credentials.isValid({ kind: "register" }, secret)) ? REGISTRAR : undefined;
    },

    async cluster(cluster, secret) {
      return (await isSecretOf(cluster, secret)) ? { kind: "cluster", cluster } : undefined;
    },

    async submitter(shown) {
      const proof = await credentials.prove(
        shown.map(({ cluster, token }) => ({
          id: { kind: "cluster-token", cluster: clusterId(cluster) },
          secret: token,
        })),
      );
      if (proof === undefined) return undefined;
      const clusters = [...new Set(shown.map(({ cluster }) => cluster))];
      return { principal: { kind: "submitter", clusters }, holds: () => proof.holds() };
    },

    async bearer(text, clusters) {
      const isOf = async (cluster: string): Promise<boolean> =>
        (await isTokenOf(cluster, text)) || isSecretOf(cluster, text);
      const right = await Promise.all(clusters.map(isOf));
      return { kind: "submitter", clusters: clusters.filter((_, at) => right[at]) };
    },
  };
}
