import { aHello, aSpec } from "../../../testing/builders.ts";
import type { World } from "../../../testing/world.ts";
import { parseGraph } from "../../graph/jgf.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import { documentOf, times } from "../../graph/testing/documents.ts";
import { want } from "../../graph/testing/requests.ts";
import { clusterId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import type { Resources } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";

/** A node joins. */
export function join(world: World, name: string, capacity: Resources, cluster = "default"): void {
  const session = world.state.nodes.size + 1;
  world.do({ kind: "connect-node", ...aHello(name, { capacity, session, cluster }) });
}

/** A pull cluster of nodes with cores. */
export function register(world: World, name: string, nodes = 2, cores = 4): void {
  const graph = parseGraph(
    documentOf({
      type: "cluster",
      inside: times(nodes, { type: "node", inside: [{ type: "core", size: cores }] }),
    }),
  );
  const id = clusterId(name);
  world.do({ kind: "register-cluster", id, graph, isUpdate: false, nowMs: 1 });
}

export function tell(world: World, name: string, patch: Record<string, unknown>): void {
  const id = clusterId(name);
  world.do({ kind: "set-status", id, patch, counters: undefined, nowMs: ++world.nowMs });
}

export const submit = (world: World, input: Partial<JobSpecInput>): void =>
  void world.do({
    kind: "submit-jobs",
    submissions: [{ spec: aSpec(input), idempotencyKey: undefined }],
    by: "t",
    nowMs: world.nowMs,
  });

/** A request for so many cores of one node. */
export const cores = (count: number): ResourceChoice => [[want(1, "node", [want(count, "core")])]];

export const whereTo = ({ state }: Task): string => {
  if (state.kind === "offered") return `cluster ${state.cluster}`;
  return "nodeId" in state ? String(state.nodeId) : state.kind;
};
