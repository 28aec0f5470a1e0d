import type { NodeId } from "../../../core/model/ids.ts";
import type { LossPolicy } from "../../../core/model/node/node.ts";
import { lossPolicyOf } from "../../../core/model/node/node.ts";
import { isActive } from "../../../core/model/job/task.ts";
import type { JobRecord } from "../../../core/state/jobs/job-record.ts";
import type { State } from "../../../core/state/state.ts";

/** Limits the tasks that are checked: an array may have very many. */
const TASKS_LOOKED_AT = 10_000;
const NODES_NAMED = 10;

/** The disconnected nodes with tasks of the job, and what will happen to these tasks; undefined: none. */
export function explainAway(
  state: State,
  record: JobRecord,
): { readonly summary: string; readonly hints: readonly string[] } | undefined {
  const counts = new Map<NodeId, number>();
  let looked = 0;
  for (const task of record.openTaskRows()) {
    if (looked++ >= TASKS_LOOKED_AT) break;
    if (!isActive(task.state)) continue;
    const { nodeId } = task.state;
    if (state.nodes.get(nodeId)?.node.link.kind === "connected") continue;
    counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const parts: string[] = [];
  const hints: string[] = [];
  for (const [id, count] of [...counts].slice(0, NODES_NAMED)) {
    const node = state.nodes.get(id)?.node;
    if (node === undefined) continue;
    const policy = lossPolicyOf(node);
    const what = `${count === 1 ? "1 task is" : `${count} tasks are`} on node ${id}`;
    parts.push(`${what}, which is ${node.link.kind}: ${THEN[policy](count)}`);
    if (policy === "keep") hints.push(hintFor(id));
  }
  const more = counts.size - parts.length;
  if (more > 0) parts.push(`and ${more} more nodes are not connected`);
  return { summary: parts.join("; "), hints };
}

const THEN: Readonly<Record<LossPolicy, (count: number) => string>> = {
  requeue: (count) => `${it(count)} placed elsewhere if the node does not return in time`,
  keep: (count) =>
    `${count === 1 ? "it waits" : "they wait"} until the node returns (on lost: keep)`,
  fail: (count) =>
    `${count === 1 ? "it fails" : "they fail"} if the node does not return in time (on lost: fail)`,
};

const it = (count: number): string => (count === 1 ? "it is" : "they are");

const hintFor = (id: NodeId): string =>
  `start the agent of node ${id} again; or give the node up: busbar nodes remove ${id} runs its tasks elsewhere, ` +
  `busbar nodes set ${id} --on-lost fail fails them`;
