import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";
import { requireCluster } from "./clusters.ts";
import { removedCredentials, writtenCredentials } from "./credential-rows.ts";

/** All of them or none. What was there before opens nothing any more; what is not there stays away. */
export function setCredentials(
  state: State,
  command: CommandOf<"set-credentials">,
): Decision<undefined> {
  for (const { id } of command.put) if ("cluster" in id) requireCluster(state, id.cluster);
  return {
    changes: [
      ...writtenCredentials(command.put, command),
      ...removedCredentials(state, command.remove, command.by),
    ],
    answer: undefined,
  };
}

/** Of a cluster that was registered anew meanwhile, or is gone, nothing changes. */
export function claimCluster(
  state: State,
  { id: cluster, hash }: CommandOf<"claim-cluster">,
): Decision<undefined> {
  const known = state.credentials.get({ kind: "cluster-secret", cluster });
  if (known?.isUnclaimed !== true || known.hash !== hash) return { changes: [], answer: undefined };
  const { isUnclaimed: _, ...row } = known;
  return { changes: [{ table: "credential", row }], answer: undefined };
}
