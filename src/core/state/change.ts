import type { Cluster, ClusterGraph, ClusterStatus, ClusterSubsystem } from "../model/cluster.ts";
import type { Credential, CredentialRef } from "../model/credential.ts";
import type { DeclaredSoftware } from "../model/declared-software.ts";
import type { Group } from "../model/group.ts";
import type { ClusterId, GroupId, JobId, NodeId } from "../model/ids.ts";
import type { Job } from "../model/job/job.ts";
import type { Node } from "../model/node/node.ts";
import type { NodeFacts } from "../model/node/node-facts.ts";
import type { Task } from "../model/job/task.ts";

/**
 * One row written or removed. Changes are the only way state moves: the same list is stored,
 * applied in memory, and sent to watchers and agents, so the four cannot disagree.
 *
 * config: group, job, leftover, counter, credential. desired: task (a task row holds its assignment: node, attempt and
 * their state). inventory: cluster, graph, subsystem, declared, status (all of clusters), node, facts (what a
 * node's agent says its machine has; those of one that says nothing follow from its capacity:
 * `State.factsOf`).
 */
export type Change =
  | { readonly table: "group"; readonly row: Group }
  | { readonly table: "group"; readonly removed: GroupId }
  | { readonly table: "job"; readonly row: Job }
  /** Takes the rows of its tasks with it: those at `indexes`. */
  | { readonly table: "job"; readonly removed: JobId; readonly indexes: readonly number[] }
  /** Rows of the job's tasks stay when it is removed, and go in later batches. */
  | { readonly table: "leftover"; readonly row: { readonly id: JobId } }
  | {
      readonly table: "leftover";
      readonly removed: JobId;
      readonly indexes: readonly number[];
      readonly isLast: boolean;
    }
  | { readonly table: "task"; readonly row: Task }
  | { readonly table: "cluster"; readonly row: Cluster }
  | { readonly table: "cluster"; readonly removed: ClusterId }
  /** A new graph takes the subsystems of the old one with it: each must be written again. */
  | { readonly table: "graph"; readonly row: ClusterGraph }
  | { readonly table: "graph"; readonly removed: ClusterId }
  | { readonly table: "subsystem"; readonly row: ClusterSubsystem }
  | { readonly table: "subsystem"; readonly removed: ClusterId; readonly name: string }
  | { readonly table: "declared"; readonly row: DeclaredSoftware }
  | { readonly table: "declared"; readonly removed: ClusterId; readonly name: string }
  | { readonly table: "status"; readonly row: ClusterStatus }
  | { readonly table: "status"; readonly removed: ClusterId }
  | { readonly table: "node"; readonly row: Node }
  | { readonly table: "node"; readonly removed: NodeId }
  | { readonly table: "facts"; readonly row: FactsRow }
  | { readonly table: "facts"; readonly removed: NodeId }
  | { readonly table: "counter"; readonly row: Counter }
  | { readonly table: "credential"; readonly row: Credential }
  | { readonly table: "credential"; readonly removed: CredentialRef };

/** Rows of their own: they are large, and nodes come and go more often than their machines change. */
export interface FactsRow {
  readonly id: NodeId;
  readonly facts: NodeFacts;
}

/** Numbers that must never be used again, even when what bore them is gone. */
export interface Counter {
  readonly lastJobId: JobId;
}
