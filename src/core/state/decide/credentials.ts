import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";
import { requireCluster } from "./clusters.ts";
import { removedCredentials, writtenCredentials } from "./credential-rows.ts";

/** All or none. Replaced credentials are no longer valid; removing a missing one is no error. */
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

/** Changes nothing when the cluster was registered again meanwhile, or was removed. */
export function claimCluster(
  state: State,
  { id: cluster, hash }: CommandOf<"claim-cluster">,
): Decision<undefined> {
  const known = state.credentials.get({ kind: "cluster-secret", cluster });
  if (known?.isUnclaimed !== true || known.hash !== hash) return { changes: [], answer: undefined };
  const { isUnclaimed: _, ...row } = known;
  return { changes: [{ table: "credential", row }], answer: undefined };
}
