import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { acceptsTasks } from "../../../model/node/node.ts";
import { takeFrom } from "../../../scheduler/clusters/offered-capacity.ts";
import type { Change } from "../../change.ts";
import type { Answers, CommandOf, Decision, RunRef } from "../../command.ts";
import type { State } from "../../state.ts";
import { whyKeptBack } from "./kept-back.ts";

/**
 * The agent of a cluster accepts tasks offered to the cluster, oldest first, as far as
 * it has free capacity. From then on they are like the tasks of any node.
 */
export function takeTasks(
  state: State,
  { nodeId, session, room, nowMs }: CommandOf<"take-tasks">,
): Decision<Answers["take-tasks"]> {
  const node = state.nodes.get(nodeId)?.node;
  if (node?.link.kind !== "connected" || node.link.session !== session) {
    throw new AppError("conflict", `this is no longer the session of node ${nodeId}`);
  }
  if (node.clusterAgent === undefined) {
    throw new AppError("invalid_argument", `node ${nodeId} is not the agent of a cluster`);
  }
  const changes: Change[] = [];
  const taken: RunRef[] = [];
  let { tasks, free } = room;
  let looks = 0;
  let keptBack = 0;
  for (const task of acceptsTasks(node) ? state.clusters.loads.offeredTo(node.cluster) : []) {
    if (tasks === 0 || looks >= limits.takeLooksMax) break;
    if (whyKeptBack(state, task) !== undefined) {
      if (++keptBack >= limits.keptBackLooksMax) break;
      continue;
    }
    looks++;
    const job = state.jobs.get(task.jobId)?.job;
    const left = job === undefined ? undefined : takeFrom(free, job.spec);
    if (left === undefined) continue;
    free = left;
    tasks--;
    taken.push({ jobId: task.jobId, index: task.index, attempt: task.attempt });
    const at = { kind: "assigned", nodeId, assignedAtMs: nowMs } as const;
    changes.push({ table: "task", row: { ...task, state: at } });
  }
  return { changes, answer: { taken, room: { tasks, free } } };
}
