import { ANONYMOUS, type Principal } from "../../core/access/principal.ts";
import type { Authenticator } from "../../server/credentials/authenticator.ts";
import type { Operations } from "../../server/operations/operations.ts";
import { refuse } from "./status.ts";

/** The operations that this door uses. */
export type RainbowOperations = Pick<
  Operations,
  | "acceptTasks"
  | "addSubsystem"
  | "deleteCluster"
  | "getCluster"
  | "readJobspec"
  | "listOffered"
  | "registerCluster"
  | "removeSubsystem"
  | "satisfy"
  | "setClusterState"
  | "submitJobs"
  | "submitToChosen"
>;

/** On this wire credentials are in the messages: each method makes its own principal. */
export interface RainbowAccess {
  readonly operations: { as(principal: Principal): RainbowOperations };
  readonly authenticator: Authenticator;
}

/** A cluster and its secret, with which a client acts as its scheduler. */
export interface ClusterSpeaker {
  readonly cluster: string;
  readonly secret: string;
}

/** Throws unless the secret is the cluster's; an unknown cluster gets the same error. */
export const asCluster = async (
  { operations, authenticator }: RainbowAccess,
  { cluster, secret }: ClusterSpeaker,
): Promise<RainbowOperations> => operations.as(known(await authenticator.cluster(cluster, secret)));

export const asRegistrar = async (
  { operations, authenticator }: RainbowAccess,
  secret: string,
): Promise<RainbowOperations> =>
  operations.as(known(secret === "" ? undefined : await authenticator.registrar(secret)));

/** For requests without a credential. */
export const asAnybody = ({ operations }: RainbowAccess): RainbowOperations =>
  operations.as(ANONYMOUS);

/** Rejects the request if the credential was wrong. */
export function known<Shown>(principal: Shown | undefined): Shown {
  if (principal === undefined) throw refuse.denied();
  return principal;
}
