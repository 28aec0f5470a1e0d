import type { LossPolicy, NodeStateName } from "../../core/model/node/node.ts";
import { nodeStateName, SET_NODE_RULES } from "../../core/model/node/node.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import type { NodeId } from "../../core/model/ids.ts";
import { checkName, groupId, nodeId } from "../../core/model/ids.ts";
import type { Resources } from "../../core/model/resources.ts";
import { addInto, fromResources } from "../../core/model/resources.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";
import { readCondition } from "../../core/state/decide/if-revision.ts";
import type { State } from "../../core/state/state.ts";
import { REASON_RULE } from "../../core/model/texts.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { readAway } from "../sessions/agent-messages.ts";
import type { OperationContext } from "./create-operations.ts";
import type { CallerOperations } from "./operations.ts";
import { PAGES, pageSizeOf } from "../views/paging.ts";
import { showGroup, showNode } from "../views/show.ts";
import type { NodeLoad } from "../loop/open-batch.ts";
import type { GroupView, NodeView } from "../views/views.ts";

type NodeOperations = Pick<
  CallerOperations,
  | "listNodes"
  | "getNode"
  | "drainNode"
  | "undrainNode"
  | "setNode"
  | "removeNode"
  | "listGroups"
  | "putGroup"
  | "removeGroup"
>;

export function createNodeOperations({ loop, clock }: OperationContext): NodeOperations {
  const briefNode = (name: string): Promise<NodeView> =>
    loop.read((state) => viewNode(requireNode(state, name)));
  const getGroup = (name: string): Promise<GroupView> =>
    loop.read((state) => {
      const record = state.groups.get(groupId(name));
      if (record === undefined) throw new AppError("not_found", `there is no group ${name}`);
      return showGroup(record);
    });
  return {
    listNodes: (_caller, filter, page) =>
      loop.read((state, revision) => {
        const size = pageSizeOf(page);
        const after = PAGES.nodes.placeOf(page);
        const found = findNodes(state.nodesByName.all, { ...filter, after }, size + 1);
        const nodes = found.slice(0, size).map((record) => viewNode(record));
        const last = nodes.at(-1)?.name;
        return {
          nodes,
          ...(found.length > size && last !== undefined
            ? { nextPageToken: PAGES.nodes.tokenOf(last) }
            : {}),
          revision,
        };
      }),

    getNode: (_caller, name) =>
      loop.read((state) => {
        const record = requireNode(state, name);
        return viewNode(record, state.factsOf(record.node));
      }),

    async drainNode({ name: by }, name, reason, condition) {
      checkRule(reason, "reason", REASON_RULE);
      const only = readCondition(condition);
      const drain = { reason };
      await loop.submit({ kind: "drain-node", nodeId: nodeId(name), drain, by, ...only });
      return briefNode(name);
    },

    async undrainNode({ name: by }, name, condition) {
      const only = readCondition(condition);
      await loop.submit({
        kind: "drain-node",
        nodeId: nodeId(name),
        drain: undefined,
        by,
        ...only,
      });
      return briefNode(name);
    },

    async setNode({ name: by }, name, { onLost, lostAfterMs, ...condition }) {
      const only = readCondition(condition);
      const loss = {
        ...(onLost === undefined ? {} : { onLost: readSetPolicy(onLost) }),
        ...(lostAfterMs === undefined
          ? {}
          : { lostAfterMs: readAway(lostAfterMs, "lostAfterMs") ?? null }),
      };
      const nowMs = clock.nowMs();
      await loop.submit({ kind: "set-node-loss", nodeId: nodeId(name), loss, by, nowMs, ...only });
      return briefNode(name);
    },

    async removeNode({ name: by }, name, condition) {
      const only = readCondition(condition);
      const nowMs = clock.nowMs();
      await loop.submit({ kind: "remove-node", nodeId: nodeId(name), by, nowMs, ...only });
      return { revision: loop.revision };
    },

    listGroups: () =>
      loop.read((state, revision) => ({
        groups: [...state.groups.values()]
          .map(showGroup)
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
        revision,
      })),

    async putGroup({ name: by }, group) {
      const { name, weight, owner, runningTasksMax, queuedTasksMax, paused } = group;
      await loop.submit({
        kind: "put-group",
        id: groupId(checkName(name, "name", limits.nameLengthMax)),
        ...(weight === undefined ? {} : { weight }),
        ...(owner === undefined ? {} : { owner }),
        runningTasksMax,
        queuedTasksMax,
        isPaused: paused,
        by,
        ...readCondition(group),
      });
      return getGroup(name);
    },

    async removeGroup({ name: by }, name, condition) {
      await loop.submit({
        kind: "remove-group",
        id: groupId(name),
        by,
        ...readCondition(condition),
      });
      return { revision: loop.revision };
    },
  };
}

/** Null: the value that the agent requests. */
function readSetPolicy(text: string): LossPolicy | null {
  const policy = checkRule(text as LossPolicy | "agent", "onLost", SET_NODE_RULES.onLost);
  return policy === "agent" ? null : policy;
}

interface NodeSearch {
  readonly after: string | undefined;
  readonly cluster?: string | undefined;
  readonly state?: string | undefined;
}

/** The first `max` of the requested nodes; reads no others. */
export function findNodes(
  inOrder: readonly NodeRecord[],
  { after, cluster, state }: NodeSearch,
  max: number,
): readonly NodeRecord[] {
  const found: NodeRecord[] = [];
  for (let at = after === undefined ? 0 : firstAfter(inOrder, after); at < inOrder.length; at++) {
    const record = inOrder[at] as NodeRecord;
    if (cluster !== undefined && record.node.cluster !== cluster) continue;
    if (state !== undefined && stateOf(record) !== state) continue;
    if (found.push(record) >= max) break;
  }
  return found;
}

function firstAfter(inOrder: readonly NodeRecord[], name: string): number {
  let [low, high] = [0, inOrder.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((inOrder[middle]?.node.id ?? "") > name) high = middle;
    else low = middle + 1;
  }
  return low;
}

const stateOf = ({ node, tasks, held }: NodeRecord): NodeStateName =>
  nodeStateName(node, tasks.size + held.size);

export const viewNode = (record: NodeRecord, facts?: NodeFacts): NodeView =>
  showNode(record.node, loadOf(record), record.revision, facts);

const loadOf = ({ used, tasks, held, runTimes }: NodeRecord): NodeLoad => ({
  used,
  tasks: tasks.size,
  held: held.size,
  runTimes,
});

function requireNode(state: State, name: string): NodeRecord {
  const record = state.nodes.get(name as NodeId);
  if (record === undefined) throw new AppError("not_found", `there is no node ${name}`);
  return record;
}

/** In the units people write. */
export function sum(amounts: readonly Resources[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const one of amounts) addInto(total, one);
  return fromResources(total);
}
