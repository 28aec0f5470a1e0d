import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { aHello } from "../../../testing/builders.ts";
import { World } from "../../../testing/world.ts";
import { parseGraph } from "../../graph/jgf.ts";
import { documentOf } from "../../graph/testing/documents.ts";
import { type CredentialRef, credentialKey } from "../../model/credential.ts";
import { clusterId, nodeId } from "../../model/ids.ts";

const BLUE = clusterId("blue");
const SECRET: CredentialRef = { kind: "cluster-secret", cluster: BLUE };
const TOKEN: CredentialRef = { kind: "cluster-token", cluster: BLUE };
const graph = parseGraph(documentOf({ type: "cluster", inside: [{ type: "node" }] }));

function register(
  world: World,
  hashes?: { secret: string; token: string },
  isUpdate = false,
): void {
  const credentials = hashes && { hashes };
  const command = { id: BLUE, graph, isUpdate, by: "registrar", nowMs: world.nowMs };
  world.do({ kind: "register-cluster", ...command, ...(credentials && { credentials }) });
}

const set = (
  world: World,
  put: readonly (readonly [CredentialRef, string])[],
  remove: readonly CredentialRef[] = [],
): unknown =>
  world.do({
    kind: "set-credentials",
    put: put.map(([id, hash]) => ({ id, hash })),
    remove,
    by: "me",
    nowMs: world.nowMs,
  });

const hashes = ({ state }: World): Record<string, string> =>
  Object.fromEntries(state.credentials.inOrder.map(({ id, hash }) => [credentialKey(id), hash]));

describe("credentials", () => {
  test("of a new cluster are stored and removed with it", () => {
    const world = new World();
    register(world, { secret: "s1", token: "t1" });
    expect(world.state.credentials.get(SECRET)).toEqual({
      id: SECRET,
      hash: "s1",
      createdAtMs: 1_000,
      by: "registrar",
    });
    expect(hashes(world)).toEqual({ "cluster-secret/blue": "s1", "cluster-token/blue": "t1" });
    world.restart();
    expect(hashes(world)).toEqual({ "cluster-secret/blue": "s1", "cluster-token/blue": "t1" });
    world.do({ kind: "remove-cluster", id: BLUE, nowMs: 2 });
    expect(hashes(world)).toEqual({});
    register(world);
    expect(hashes(world)).toEqual({});
  });

  test("a rejected registration stores none", () => {
    const world = new World();
    register(world, { secret: "s1", token: "t1" });
    const before = world.changes.length;
    expect(() => register(world, { secret: "s2", token: "t2" })).toThrow(
      "cluster blue already exists",
    );
    expect(() => register(world, { secret: "s2", token: "t2" }, true)).toThrow(/rotate/);
    expect(world.changes.length).toBe(before);
    register(world, undefined, true); // another graph keeps them
    expect(hashes(world)).toEqual({ "cluster-secret/blue": "s1", "cluster-token/blue": "t1" });
  });

  test("are set together or not at all", () => {
    const world = new World();
    const red: CredentialRef = { kind: "cluster-token", cluster: clusterId("red") };
    const both = [[{ kind: "register" }, "r"] as const, [red, "x"] as const];
    expect(() => set(world, both)).toThrow("there is no cluster red");
    expect(hashes(world)).toEqual({});
  });

  test("of a managed cluster can be set and removed", () => {
    const world = new World();
    world.do({ kind: "connect-node", ...aHello("n1", { cluster: "blue" }) });
    set(world, [[TOKEN, "t"]]);
    world.do({ kind: "disconnect-node", nodeId: nodeId("n1"), session: 1, nowMs: 2 });
    world.do({ kind: "remove-node", nodeId: nodeId("n1"), nowMs: 3 });
    world.do({ kind: "remove-cluster", id: BLUE, nowMs: 4 });
    expect(hashes(world)).toEqual({});
  });

  test("whatever is set and removed, rows are the same after a restart", () => {
    const ref = fc.constantFrom<CredentialRef>(
      { kind: "register" },
      { kind: "global-token" },
      SECRET,
      TOKEN,
    );
    const step = fc.record({
      put: fc.array(fc.tuple(ref, fc.string()), { maxLength: 3 }),
      remove: fc.array(ref, { maxLength: 2 }),
      removesCluster: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const world = new World();
        for (const { put, remove, removesCluster } of steps) {
          if (world.state.clusters.get(BLUE) === undefined) register(world);
          set(world, put, remove);
          const want = Object.fromEntries(put.map(([id, hash]) => [credentialKey(id), hash]));
          for (const id of remove) delete want[credentialKey(id)];
          expect(hashes(world)).toMatchObject(want);
          if (removesCluster) world.do({ kind: "remove-cluster", id: BLUE, nowMs: 1 });
          expect(checkState(world.state)).toEqual([]);
        }
        expect(digest(readBack(world.changes))).toEqual(digest(world.state));
      }),
    );
  });
});

describe("a registration whose answer was lost", () => {
  const registered = (world: World, secret: string, by = "registrar"): unknown =>
    world.do({
      kind: "register-cluster",
      id: BLUE,
      graph,
      isUpdate: false,
      by,
      nowMs: world.nowMs,
      credentials: { hashes: { secret, token: `t-${secret}` }, isUnclaimed: true },
    });

  test("may be repeated by the same caller, and only the newest credentials are valid", () => {
    const world = new World();
    registered(world, "s1");
    registered(world, "s2");
    expect(hashes(world)).toEqual({ "cluster-secret/blue": "s2", "cluster-token/blue": "t-s2" });
    world.restart();
    registered(world, "s3");
    expect(hashes(world)).toMatchObject({ "cluster-secret/blue": "s3" });
    expect(checkState(world.state)).toEqual([]);
  });

  test("is final once it is claimed; a claim with older credentials changes nothing", () => {
    const world = new World();
    registered(world, "s1");
    registered(world, "s2");
    world.do({ kind: "claim-cluster", id: BLUE, hash: "s1" });
    registered(world, "s3");
    world.do({ kind: "claim-cluster", id: BLUE, hash: "s3" });
    const before = world.changes.length;
    world.do({ kind: "claim-cluster", id: BLUE, hash: "s3" });
    world.do({ kind: "claim-cluster", id: clusterId("nobody"), hash: "s3" });
    expect(() => registered(world, "s4")).toThrow("cluster blue already exists");
    expect(world.changes.length).toBe(before);
    expect(hashes(world)).toMatchObject({ "cluster-secret/blue": "s3" });
  });

  const done: Readonly<Record<string, (world: World) => unknown>> = {
    "another caller registers it": (world) => registered(world, "s2", "local"),
    "it has told its state": (world) => {
      const told = { patch: { free: 1 }, counters: undefined, by: "cluster:blue", nowMs: 2 };
      world.do({ kind: "set-status", id: BLUE, ...told });
      return registered(world, "s2");
    },
    "its graph was changed": (world) => {
      register(world, undefined, true);
      return registered(world, "s2");
    },
    "its secret was rotated": (world) => {
      set(world, [[SECRET, "rotated"]]);
      return registered(world, "s2");
    },
  };
  for (const [why, attempt] of Object.entries(done)) {
    test(`is not repeated when ${why}`, () => {
      const world = new World();
      registered(world, "s1");
      expect(() => attempt(world)).toThrow("cluster blue already exists");
      expect(hashes(world)["cluster-secret/blue"]).not.toBe("s2");
    });
  }
});
