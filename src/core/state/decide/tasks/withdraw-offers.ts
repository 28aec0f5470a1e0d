import { limits } from "../../../../limits.ts";
import type { ClusterId, JobId } from "../../../model/ids.ts";
import { acceptsTasks } from "../../../model/node/node.ts";
import type { Change } from "../../change.ts";
import type { NodeRecord } from "../../../scheduler/nodes/node-record.ts";
import type { State } from "../../state.ts";
import { withdrawn } from "./end-attempt.ts";

/**
 * The last agent of a cluster is lost: tasks that were offered to the cluster and not accepted return
 * to the queue, and may be placed elsewhere. Of very many, the oldest go first.
 */
export function withdrawOffers(
  state: State,
  lost: readonly NodeRecord[],
  closed: ReadonlyMap<JobId, unknown>,
  nowMs: number,
): Change[] {
  const agents = lost.filter(({ node }) => node.clusterAgent !== undefined);
  const clusters = new Set(agents.map(({ node }) => node.cluster));
  return [...clusters]
    .filter((cluster) => !hasAcceptingAgent(state, cluster))
    .flatMap((cluster) => [...state.clusters.loads.offeredTo(cluster)])
    .filter(({ jobId }) => !closed.has(jobId)) // returned with their job
    .slice(0, limits.changesPerBatchMax)
    .map((task) => ({ table: "task", row: withdrawn(task, nowMs) }));
}

const hasAcceptingAgent = ({ nodes }: State, cluster: ClusterId): boolean =>
  nodes.values().some(({ node }) => node.cluster === cluster && acceptsTasks(node));
