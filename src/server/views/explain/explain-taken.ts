import type { ClusterId, NodeId } from "../../../core/model/ids.ts";
import type { JobRecord } from "../../../core/state/jobs/job-record.ts";
import type { State } from "../../../core/state/state.ts";

/** Clusters that tasks of a job are offered to, or that accepted tasks and have not reported since. */
interface Pulling {
  readonly offered: ReadonlyMap<ClusterId, number>;
  readonly accepted: ReadonlyMap<ClusterId, number>;
}

/** Limits the tasks that are checked: an array may have very many. */
const TASKS_LOOKED_AT = 10_000;

function pullingOf(record: JobRecord): Pulling {
  const [offered, accepted] = [new Map<ClusterId, number>(), new Map<ClusterId, number>()];
  let looked = 0;
  for (const { state } of record.openTaskRows()) {
    if (looked++ >= TASKS_LOOKED_AT) break;
    const isSilent = state.kind === "accepted" && state.startedAtMs === undefined;
    const counts = state.kind === "offered" ? offered : isSilent ? accepted : undefined;
    if (counts === undefined || !("cluster" in state) || state.cluster === undefined) continue;
    counts.set(state.cluster, (counts.get(state.cluster) ?? 0) + 1);
  }
  return { offered, accepted };
}

/** One clause, for lists; undefined: no task is offered or silent. */
export function describeTaken(record: JobRecord): string | undefined {
  const { offered, accepted } = record.progress.counts;
  if (offered + accepted === 0) return undefined;
  const pulling = pullingOf(record);
  const texts = [
    ...Array.from(
      pulling.offered.keys(),
      (id) => `offered to cluster ${id}, which has not accepted it yet`,
    ),
    ...Array.from(
      pulling.accepted.keys(),
      (id) => `accepted by cluster ${id}, which has not reported on it yet`,
    ),
  ];
  const [first, ...others] = texts;
  return others.length === 0 ? first : `${first}; and ${others.length} more clusters`;
}

/** The same for each cluster, with what would help. */
export function explainTaken(
  { clusters: { loads } }: State,
  record: JobRecord,
): { readonly summary: string; readonly hints: readonly string[] } | undefined {
  const { offered, accepted } = pullingOf(record);
  const { held } = record.progress.counts;
  if (offered.size + accepted.size + held === 0) return undefined;
  const parts: string[] = held === 0 ? [] : [describeHeld(record)];
  const hints: string[] = [];
  for (const [id, count] of offered) {
    parts.push(
      `${tasks(count)} offered to cluster ${id}, which has not accepted ${them(count)} yet`,
    );
    if (loads.hasOnlyUnavailableAgents(id))
      hints.push(`the agents of cluster ${id} are disconnected: start them again`);
    else if (!loads.hasAgents(id)) {
      hints.push(
        `cluster ${id} has no agent: start one (busbar agent --cluster ${id} --executor EXECUTOR), ` +
          `or accept tasks in its name (busbar cluster accept ${id} TASK)`,
      );
    }
  }
  for (const [id, count] of accepted) {
    parts.push(
      `${tasks(count)} accepted by cluster ${id}, which has not reported on ${them(count)} yet`,
    );
    hints.push(`cluster ${id} runs accepted tasks by itself and has no duty to report: look there`);
  }
  return { summary: parts.join("; "), hints };
}

/** The nodes that have fetched tasks of the job ahead. */
function describeHeld(record: JobRecord): string {
  const byNode = new Map<NodeId, number>();
  let looked = 0;
  for (const { state } of record.openTaskRows()) {
    if (looked++ >= TASKS_LOOKED_AT) break;
    if (state.kind === "held") byNode.set(state.nodeId, (byNode.get(state.nodeId) ?? 0) + 1);
  }
  const parts = Array.from(
    byNode,
    ([id, count]) =>
      `${tasks(count)} held by node ${id}, which starts ${them(count)} when tasks there end`,
  );
  const [first, ...others] = parts;
  return others.length === 0
    ? `${first}`
    : `${first}; and tasks held by ${others.length} more nodes`;
}

const tasks = (count: number): string => (count === 1 ? "1 task" : `${count} tasks`);
const them = (count: number): string => (count === 1 ? "it" : "them");
