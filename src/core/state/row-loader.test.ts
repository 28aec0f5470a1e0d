import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { allJobs } from "./checks/all-jobs.ts";
import { checkState, digest, readBack } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { nodeId, revision } from "../model/ids.ts";
import { NO_FACTS } from "../model/node/node-facts.ts";
import type { JobSpecInput } from "../model/job/job-spec.ts";
import { waitingPrefix } from "./jobs/job-codec.ts";
import { TABLES } from "./tables/tables.ts";
import { createRowLoader } from "./row-loader.ts";
import { State } from "./state.ts";

/** Terms whose rows have similar beginnings. */
const TERMS: readonly Partial<JobSpecInput>[] = [
  {},
  { group: "g" },
  { labels: { name: "x" } },
  { labels: { name: "y" } },
  { labels: { name: "x" }, priority: 3 },
  { env: { A: '"name":"x"' } },
  { env: { A: '"name":"y"' }, resources: { cpu: 2 } },
  { array: "0-3" },
  { queueDeadlineMs: 60_000 },
  { resources: { cpu: 2 }, placement: { cluster: "c" } },
];

function worldOfAll(keyEvery: number): World {
  const world = new World();
  for (let at = 0; at < 6 * TERMS.length; at++) {
    const spec = aSpec({ ...TERMS[(at * 7) % TERMS.length], name: `job-${at}` });
    const idempotencyKey = at % keyEvery === 0 ? `key-${at}` : undefined;
    const submissions = [{ spec, idempotencyKey }];
    world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs + at });
  }
  return world;
}

test("equal machines share their facts when they are read back, whatever else differs", () => {
  const world = new World();
  for (const [at, name] of ["w1", "w2", "w3"].entries()) {
    const spack = [{ name: "ior", version: "3.3.0" }];
    const os = [{ name: at === 2 ? "rocky" : "debian" }];
    const facts = { ...NO_FACTS, software: { spack, os } };
    const capacity = { cpu: 4_000, memory: 8e9 + at };
    world.do({ kind: "connect-node", ...aHello(name, { facts, capacity }) });
  }
  const back = readBack(world.changes);
  expect(digest(back)).toEqual(digest(world.state));
  const [w1, w2, w3] = ["w1", "w2", "w3"].map((name) => back.facts.get(nodeId(name)));
  expect([w1, w2, w3].map((facts) => facts?.memoryBytes)).toEqual([8e9, 8e9 + 1, 8e9 + 2]);
  expect(w2?.software["spack"]).toBe(w1?.software["spack"]);
  expect(w3?.software["spack"]).toBe(w1?.software["spack"]);
  expect(w2?.software["os"]).toBe(w1?.software["os"]);
  expect(w3?.software["os"]).toEqual([{ name: "rocky" }]);
});

test("a node's address is read back; a row from before there were addresses has none", () => {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("w1", { address: "192.0.2.7" }) });
  world.do({ kind: "connect-node", ...aHello("old") });
  const rows = new Map<string, string | undefined>();
  for (const change of world.changes) {
    TABLES.encode(change, (key, value) => void rows.set(key, value));
  }
  const row = world.state.nodes.get(nodeId("w1"))?.node;
  expect(TABLES.decode("node/w1", rows.get("node/w1") ?? "")).toEqual({ table: "node", row });
  expect(rows.get("node/w1")).toContain('"address":"192.0.2.7"');
  expect(rows.get("node/old")).not.toContain("address");
  expect(readBack(world.changes).nodes.get(nodeId("old"))?.node).not.toHaveProperty("address");
});

describe("rows with equal beginnings", () => {
  test("are loaded correctly, whatever their terms", () => {
    for (const keyEvery of [1, 4, 1_000]) {
      const world = worldOfAll(keyEvery);
      const back = readBack(world.changes);
      expect(digest(back)).toEqual(digest(world.state));
      expect(checkState(back)).toEqual([]);
      expect([...back.jobsByIdempotencyKey]).toEqual([...world.state.jobsByIdempotencyKey]);
      expect(back.deadlines.size).toBe(world.state.deadlines.size);
    }
  });

  test("of one group and request are queued in one lane, in their order", () => {
    const back = readBack(worldOfAll(4).changes);
    const waiting = [...allJobs(back)].filter(({ job }) => job.spec.group === "g");
    expect(new Set(waiting.map(({ lane }) => lane)).size).toBe(1);
    expect(waiting[0]?.lane?.peek()?.job.id).toBe(waiting[0]?.job.id);
  });

  test("a closed job is not queued, though its terms are known", () => {
    const world = worldOfAll(1_000);
    for (const { job } of allJobs(world.state)) {
      if (job.id % 3 !== 0) continue;
      const cancel = { jobId: job.id, index: undefined, reason: "r", by: "me", nowMs: 9 };
      world.do({ kind: "cancel-job", ...cancel });
    }
    const back = readBack(world.changes);
    expect(back.totals.jobs.cancelled).toBe(20);
    expect(digest(back)).toEqual(digest(world.state));
  });
});

test("only the beginning of a row is parsed when its terms are known", () => {
  const world = new World();
  const submissions = [{ spec: aSpec({ group: "g" }), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1 });
  const state = new State();
  const load = createRowLoader(state);
  for (const change of world.changes) {
    TABLES.encode(change, (key, value) => load(key, value ?? "", revision(1)));
    if (change.table !== "job" || "removed" in change) continue;
    load("job/0000000002", `${waitingPrefix(change.row.spec.terms)} this is not JSON`, revision(2));
  }
  expect(state.totals.jobs.pending).toBe(2);
});

test("rows of earlier versions are read: their fields are in another order", () => {
  const old =
    '{"id":7,"submittedAtMs":5,"submittedBy":"me","spec":{"name":"a","work":' +
    '{"kind":"command","argv":["x"]},"group":"g","needs":{"cpu":2000}}}';
  const change = TABLES.decode("job/0000000007", old);
  const state = new State();
  createRowLoader(state)("job/0000000007", old, revision(3));
  const row = [...allJobs(state)][0]?.job;
  expect(change).toEqual({ table: "job", row });
  expect(row?.spec).toMatchObject({ name: "a", group: "g", needs: { cpu: 2_000 } });
});

describe("a job with a graph request is known by its key", () => {
  const conditions = [
    { kind: "present", field: "a" },
    { kind: "one-of", field: "b", values: ["c"] },
    { kind: "version", field: "d", min: "1" },
    { kind: "version", field: "d", max: "2" },
    { kind: "number", field: "e", comparison: "<", value: 3 },
  ];
  const tree = {
    type: "node",
    with: [{ type: "core" }],
    requires: [{ subsystem: "s", conditions }],
  };
  const inputs: readonly Partial<JobSpecInput>[] = [
    { request: [[{ type: "node" }]] },
    { request: [[{ type: "node", unit: "x", label: "y" }, tree]] },
    { request: [[tree], [{ type: "node" }]], select: { parameters: { a: 1 } } },
    { request: [[tree]], select: { strategy: "first" } },
  ];
  for (const [at, input] of inputs.entries()) {
    test(`when its row was folded, and after a restart: ${at}`, () => {
      const world = new World();
      const submissions = [{ spec: aSpec(input), idempotencyKey: "k" }];
      const submit = (): unknown =>
        world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 1 });
      submit();
      world.flush();
      expect(submit()).toEqual([{ id: 1, existed: true }]);
      world.restart();
      expect(submit()).toEqual([{ id: 1, existed: true }]);
    });
  }
});
