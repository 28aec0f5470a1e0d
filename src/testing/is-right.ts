import type { Principal } from "../core/access/principal.ts";
import type { Authenticator } from "../server/credentials/authenticator.ts";

/** How the text is sent as a credential. */
export type ShownAs =
  | { readonly kind: "register" }
  | { readonly kind: "cluster-secret" | "cluster-token"; readonly cluster: string };

/** Whether a caller with this credential becomes a principal. */
export const isRight = async (
  authenticator: Authenticator,
  which: ShownAs,
  secret: string,
): Promise<boolean> => (await principalOf(authenticator, which, secret)) !== undefined;

async function principalOf(
  authenticator: Authenticator,
  which: ShownAs,
  secret: string,
): Promise<Principal | undefined> {
  switch (which.kind) {
    case "register":
      return authenticator.registrar(secret);
    case "cluster-secret":
      return authenticator.cluster(which.cluster, secret);
    case "cluster-token": {
      const { cluster } = which;
      return (await authenticator.submitter([{ cluster, token: secret }]))?.principal;
    }
  }
}
