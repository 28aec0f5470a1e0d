import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { World } from "../../../testing/world.ts";
import { AppError } from "../../../lib/errors.ts";
import { clusterId, groupId, jobId, nodeId, revision } from "../../model/ids.ts";
import type { Conditional } from "./if-revision.ts";

/** A world with one object of each kind, and commands that change it. */
function aWorld() {
  const world = new World();
  const [id, group, node, cluster] = [jobId(1), groupId("g"), nodeId("w1"), clusterId("default")];
  const submissions = [{ spec: aSpec({ array: "0-1" }), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1 });
  world.do({ kind: "put-group", id: group, weight: 2, runningTasksMax: 1, queuedTasksMax: 1 });
  world.do({ kind: "connect-node", ...aHello("w1") });
  world.do({ kind: "disconnect-node", nodeId: node, session: 1, nowMs: 2 });
  world.do({ kind: "hold-job", jobId: id, index: 0, hold: { reason: "" }, nowMs: 1 });
  const { state } = world;
  const at = {
    job: () => state.jobs.get(id)?.revision ?? 0,
    group: () => state.groups.get(group)?.revision ?? 0,
    node: () => state.nodes.get(node)?.revision ?? 0,
    cluster: () => state.clusters.revisionOf(cluster) as number,
  };
  const drain = { kind: "drain-node", nodeId: node } as const;
  const loss = { onLost: "keep" } as const;
  const status = { kind: "set-status", id: cluster, counters: undefined, nowMs: 3 } as const;
  const row = { id: cluster, name: "io", entries: [], types: [] } as never;
  const limits = { runningTasksMax: undefined, queuedTasksMax: undefined };
  const changes = {
    "cancel a job": [
      "job",
      { kind: "cancel-job", jobId: id, index: undefined, reason: "", nowMs: 3 },
    ],
    "cancel a task": ["job", { kind: "cancel-job", jobId: id, index: 1, reason: "", nowMs: 3 }],
    "hold a job": [
      "job",
      { kind: "hold-job", jobId: id, index: 1, hold: { reason: "" }, nowMs: 3 },
    ],
    "release a job": ["job", { kind: "hold-job", jobId: id, index: 0, hold: undefined, nowMs: 3 }],
    "update a job": ["job", { kind: "update-job", jobId: id, set: { priority: 3 } }],
    "rerun a job": [
      "job",
      { kind: "rerun-job", jobId: id, only: undefined, idempotencyKey: undefined, nowMs: 3 },
    ],
    "put a group": ["group", { kind: "put-group", id: group, weight: 3, ...limits }],
    "remove a group": ["group", { kind: "remove-group", id: group }],
    "drain a node": ["node", { ...drain, drain: { reason: "r" } }],
    "undrain a node": ["node", { ...drain, drain: undefined }],
    "set a node": ["node", { kind: "set-node-loss", nodeId: node, loss, nowMs: 3 }],
    "remove a node": ["node", { kind: "remove-node", nodeId: node, nowMs: 3 }],
    "set a cluster's state": ["cluster", { ...status, patch: { a: 1 } }],
    "declare software": ["cluster", { kind: "declare-software", row }],
    "remove a cluster": ["cluster", { kind: "remove-cluster", id: cluster, nowMs: 3 }],
  } as const;
  return { world, at, changes };
}

describe("a command with another revision changes nothing, with the present one it is decided", () => {
  for (const name of Object.keys(aWorld().changes) as (keyof ReturnType<
    typeof aWorld
  >["changes"])[]) {
    test(name, () => {
      const { world, at, changes } = aWorld();
      const [what, command] = changes[name];
      const present = at[what]();
      expect(present).toBeGreaterThan(0);
      if (name === "remove a cluster")
        world.do({ kind: "remove-node", nodeId: nodeId("w1"), nowMs: 3 });
      const given = (ifRevision: number): Conditional & typeof command => ({
        ...command,
        ifRevision: revision(ifRevision),
      });
      const before = world.changes.length;
      for (const wrong of [0, present - 1, present + 1]) {
        let refusal: unknown;
        try {
          world.do(given(wrong));
        } catch (error) {
          refusal = error;
        }
        expect(refusal).toBeInstanceOf(AppError);
        expect(refusal).toMatchObject({ code: "conflict", field: "ifRevision", revision: present });
      }
      expect(world.changes.length).toBe(before);
      world.do(given(present));
    });
  }
});

test("0 creates only: an existing group has another revision", () => {
  const { world } = aWorld();
  const limits = { runningTasksMax: undefined, queuedTasksMax: undefined };
  const put = (name: string) =>
    world.do({ kind: "put-group", id: groupId(name), ...limits, ifRevision: revision(0) });
  put("new");
  expect(() => put("new")).toThrow(/is at revision \d+, not at 0/);
  const known = world.state.groups.get(groupId("new"));
  expect(known?.revision).toBe(world.state.revision);
});

test("every change moves the revision of its object, and a task that of its job", () => {
  const { world, at } = aWorld();
  world.do({ kind: "connect-node", ...aHello("w1", { session: 2 }) });
  const jobBefore = at.job();
  const nodeBefore = at.node();
  world.plan();
  const record = world.state.jobs.get(jobId(1));
  const tasks = [0, 1].map((index) => record?.taskRevision(index) ?? 0);
  expect(at.job()).toBe(Math.max(...tasks) + 1);
  expect(at.job()).toBeGreaterThan(jobBefore);
  expect(at.node()).toBe(nodeBefore); // the use of tasks is derived
  const clusterBefore = at.cluster();
  const id = clusterId("default");
  world.do({ kind: "set-status", id, patch: { a: 1 }, counters: undefined, nowMs: 9 });
  expect(at.cluster()).toBeGreaterThan(clusterBefore);
});
