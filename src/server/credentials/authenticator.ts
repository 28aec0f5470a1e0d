import { type Principal, REGISTRAR, type Submitter } from "../../core/access/principal.ts";
import { clusterId } from "../../core/model/ids.ts";
import type { Credentials } from "./credentials.ts";

/** Tokens that were right, and whether they still are. */
export interface ProvenSubmitter {
  readonly principal: Submitter;
  /** Whether nothing has changed that it rests on. */
  holds(): boolean;
}

/**
 * Makes principals of the credentials that callers show. Undefined: they are wrong. A cluster that is
 * not there takes the same time. Rejects with `exhausted` when too many are checked at once.
 */
export interface Authenticator {
  /** By the secret that lets clusters register. */
  registrar(secret: string): Promise<Principal | undefined>;
  /** By the secret of a cluster. */
  cluster(cluster: string, secret: string): Promise<Principal | undefined>;
  /** By a token of each cluster; a global token, if there is one, is every cluster's token. */
  submitter(
    shown: readonly { readonly cluster: string; readonly token: string }[],
  ): Promise<ProvenSubmitter | undefined>;
  /** By a text that may be the token or the secret of some of these clusters. */
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
