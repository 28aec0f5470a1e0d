import {
  type CredentialRef,
  type HashedCredential,
  SECRET_RULE,
} from "../../core/model/credential.ts";
import { clusterId } from "../../core/model/ids.ts";
import { requireCluster } from "../../core/state/decide/clusters.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { invalid, unprocessable } from "../../lib/errors.ts";
import type { OperationContext } from "../operations/create-operations.ts";
import { newSecret } from "./credentials.ts";
import type { CallerOperations, CredentialsInput } from "../operations/operations.ts";

type CredentialOperations = Pick<
  CallerOperations,
  "getServerCredentials" | "rotateCredentials" | "setCredentials"
>;

interface Wanted {
  readonly id: CredentialRef;
  readonly text: string;
}

/** Hashes secrets outside of the loop, which never sees a plain one. */
export function createCredentialOperations({
  loop,
  clock,
  random,
  credentials,
}: OperationContext): CredentialOperations {
  const hashed = async ({ id, text }: Wanted): Promise<HashedCredential> => ({
    id,
    hash: await credentials.hash(text),
  });
  const write = async (
    by: string,
    put: readonly HashedCredential[],
    remove: readonly CredentialRef[] = [],
  ): Promise<{ readonly revision: number }> => {
    await loop.submit({ kind: "set-credentials", put, remove, by, nowMs: clock.nowMs() });
    return { revision: loop.revision };
  };
  return {
    getServerCredentials: () =>
      loop.read((state) => {
        const register = state.credentials.get({ kind: "register" });
        const globalToken = state.credentials.get({ kind: "global-token" });
        return {
          ...(register && { registerSinceMs: register.createdAtMs }),
          ...(globalToken && { globalTokenSinceMs: globalToken.createdAtMs }),
        };
      }),

    async rotateCredentials(caller, name, which) {
      const cluster = clusterId(name);
      if (!which.secret && !which.token)
        throw invalid("secret", "set secret, token or both to true");
      loop.peek((state) => requireCluster(state, cluster)); // before any work is done
      const secret = which.secret ? newSecret(random) : undefined;
      const token = which.token ? newSecret(random) : undefined;
      const put: HashedCredential[] = [];
      const add = (kind: "cluster-secret" | "cluster-token", text: string | undefined): void => {
        if (text !== undefined)
          put.push({ id: { kind, cluster }, hash: credentials.hashRandom(text) });
      };
      add("cluster-secret", secret);
      add("cluster-token", token);
      const { revision } = await write(caller.name, put);
      return {
        credentials: { ...(secret && { secret }), ...(token && { token }) },
        revision,
      };
    },

    async setCredentials(caller, input) {
      const put: HashedCredential[] = [];
      for (const wanted of wantedOf(input)) {
        const { id } = wanted;
        if ("cluster" in id) loop.peek((state) => requireCluster(state, id.cluster));
        if (!(await credentials.isCurrent(id, wanted.text))) put.push(await hashed(wanted));
      }
      const remove: CredentialRef[] = input.globalToken === null ? [{ kind: "global-token" }] : [];
      const written = await write(caller.name, put, remove);
      const { globalToken } = input;
      if (typeof globalToken === "string") credentials.noteGlobalToken(globalToken);
      return written;
    },
  };
}

/** Rejects a kind that is named twice: it would be unclear which one counts. */
function wantedOf({ registerSecret, globalToken, clusters = [] }: CredentialsInput): Wanted[] {
  const wanted: Wanted[] = [];
  const want = (id: CredentialRef, text: string | null | undefined, field: string): void => {
    if (text !== undefined && text !== null)
      wanted.push({ id, text: checkRule(text, field, SECRET_RULE) });
  };
  want({ kind: "register" }, registerSecret, "registerSecret");
  want({ kind: "global-token" }, globalToken, "globalToken");
  const names = new Set<string>();
  for (const [at, { name, secret, token }] of clusters.entries()) {
    const field = `clusters[${at}]`;
    if (names.has(name)) throw unprocessable(`${field}.name`, `${name} appears twice`);
    names.add(name);
    const cluster = clusterId(name);
    want({ kind: "cluster-secret", cluster }, secret, `${field}.secret`);
    want({ kind: "cluster-token", cluster }, token, `${field}.token`);
  }
  return wanted;
}
