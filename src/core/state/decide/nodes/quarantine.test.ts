import { describe, expect, test } from "vitest";

import { aHello, aSpec } from "../../../../testing/builders.ts";
import { checkState } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import { limits } from "../../../../limits.ts";
import { nodeId } from "../../../model/ids.ts";
import type { Node } from "../../../model/node/node.ts";
import type { TaskFailure } from "../../../model/job/task.ts";
import type { QuarantineTerms } from "../../../scheduler/nodes/suspicions.ts";
import { State } from "../../state.ts";
import { nextTickMs } from "../tick.ts";

const SETTINGS = { nodeLostAfterMs: 60_000, finishedTasksMax: 1e6, finishedAgeMsMax: 1e12 };
const FAILED: TaskFailure = { kind: "exited", exitCode: 1 };
const { quarantineJobs, quarantineMs, quarantineMsMax, quickFailureMs } = limits;

const aWorld = (...nodes: string[]): World => aWorldWith(undefined, ...nodes);

function aWorldWith(quarantine: QuarantineTerms | undefined, ...nodes: string[]): World {
  const world = new World();
  world.state = new State({ quarantine });
  nodes.forEach((name, at) => {
    world.do({ kind: "connect-node", ...aHello(name, { session: at + 1, nowMs: world.nowMs }) });
  });
  return world;
}

const nodeOf = (world: World, name: string): Node =>
  world.state.nodes.get(nodeId(name))?.node as Node;
const phaseOf = (world: World, name: string) => nodeOf(world, name).quarantine?.phase.kind;

/** A new job that is placed on the node and ends there after `tookMs`. */
function run(
  world: World,
  node: string,
  outcome: TaskFailure | { readonly kind: "succeeded" },
  tookMs = 0,
): void {
  const submissions = [{ spec: aSpec({ placement: { node } }), idempotencyKey: undefined }];
  const [job] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
  expect(world.plan()).toMatchObject([{ jobId: job?.id }]);
  const link = nodeOf(world, node).link;
  const session = link.kind === "connected" ? link.session : 0;
  const startedAtMs = world.nowMs;
  world.nowMs += tookMs;
  const { nowMs } = world;
  const ref = { jobId: job!.id, index: 0, attempt: 1 };
  const event = { kind: "ended", run: ref, startedAtMs, endedAtMs: nowMs, outcome } as const;
  world.do({ kind: "report-runs", nodeId: nodeId(node), session, events: [event], nowMs });
  world.settle();
}

function runMany(
  world: World,
  node: string,
  outcome: TaskFailure,
  count: number,
  tookMs = 0,
): void {
  for (let done = 0; done < count; done++) run(world, node, outcome, tookMs);
}

const tick = (world: World): void =>
  world.do({ kind: "tick", nowMs: world.nowMs, settings: SETTINGS });

/** n1 is quarantined. */
function aQuarantine(): World {
  const world = aWorld("n1", "n2");
  run(world, "n1", FAILED);
  run(world, "n2", { kind: "succeeded" });
  runMany(world, "n1", FAILED, quarantineJobs - 1);
  expect(phaseOf(world, "n1")).toBe("closed");
  return world;
}

describe("evidence against a node", () => {
  const cases: readonly (readonly [TaskFailure, tookMs: number, counts: boolean])[] = [
    [FAILED, 0, true],
    [FAILED, quickFailureMs - 1, true],
    [FAILED, quickFailureMs, false],
    [{ kind: "signalled", signal: "SIGSEGV" }, 5, true],
    [{ kind: "could-not-start", message: "program not found" }, 0, true],
    [{ kind: "time-limit" }, 5, false],
    [{ kind: "out-of-memory" }, 5, false],
  ];
  for (const [failure, tookMs, counts] of cases) {
    test(`${failure.kind} after ${tookMs} ms: ${counts}`, () => {
      const world = aWorld("n1", "n2");
      run(world, "n1", FAILED);
      run(world, "n2", { kind: "succeeded" });
      runMany(world, "n1", failure, quarantineJobs - 1, tookMs);
      expect(phaseOf(world, "n1")).toBe(counts ? "closed" : undefined);
    });
  }

  test("a task that works there in between clears it", () => {
    const world = aWorld("n1", "n2");
    runMany(world, "n1", FAILED, quarantineJobs - 1);
    run(world, "n2", { kind: "succeeded" });
    run(world, "n1", { kind: "succeeded" });
    runMany(world, "n1", FAILED, quarantineJobs - 1);
    expect(phaseOf(world, "n1")).toBeUndefined();
  });

  test("a success elsewhere after the last failure is enough: no further failure is needed", () => {
    const world = aWorld("n1", "n2");
    runMany(world, "n1", FAILED, quarantineJobs);
    expect(phaseOf(world, "n1")).toBeUndefined();
    run(world, "n2", { kind: "succeeded" });
    expect(phaseOf(world, "n1")).toBe("closed");
  });

  test("an operator sets the number of jobs, the time limit and the first wait", () => {
    const world = aWorldWith({ jobs: 2, quickMs: 5_000, firstMs: 60_000 }, "n1", "n2");
    runMany(world, "n1", FAILED, 2, 4_999);
    run(world, "n2", { kind: "succeeded" });
    expect(nodeOf(world, "n1").quarantine).toMatchObject({
      reason: expect.stringContaining("2 jobs in a row failed here within 5000 ms"),
      phase: { kind: "closed", untilMs: world.nowMs + 60_000 },
    });
    const never = aWorldWith({ jobs: 0, quickMs: 1_000, firstMs: 30_000 }, "n1", "n2");
    runMany(never, "n1", FAILED, 20);
    run(never, "n2", { kind: "succeeded" });
    expect(phaseOf(never, "n1")).toBeUndefined();
  });

  test("old failures do not count", () => {
    const world = aWorld("n1", "n2");
    runMany(world, "n1", FAILED, quarantineJobs - 1);
    run(world, "n2", { kind: "succeeded" });
    world.nowMs += limits.quarantineWindowMs + 1;
    run(world, "n1", FAILED);
    expect(phaseOf(world, "n1")).toBeUndefined();
  });

  test("a node alone is never quarantined: there is none to compare with", () => {
    const world = aWorld("n1");
    runMany(world, "n1", FAILED, 3 * quarantineJobs);
    expect(phaseOf(world, "n1")).toBeUndefined();
  });

  test("while nothing works anywhere, the jobs are at fault", () => {
    const world = aWorld("n1", "n2");
    for (let done = 0; done < 3 * quarantineJobs; done++) {
      run(world, "n1", FAILED);
      run(world, "n2", FAILED);
    }
    expect([phaseOf(world, "n1"), phaseOf(world, "n2")]).toEqual([undefined, undefined]);
  });
});

describe("a quarantined node", () => {
  test("shows why, and gets no tasks", () => {
    const world = aQuarantine();
    const { quarantine } = nodeOf(world, "n1");
    expect(quarantine?.reason).toContain(`${quarantineJobs} jobs in a row failed here within`);
    const submissions = [{ spec: aSpec({ array: "0-9" }), idempotencyKey: undefined }];
    world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
    const placed = world.plan().map(({ state }) => "nodeId" in state && state.nodeId);
    expect(new Set(placed)).toEqual(new Set(["n2"]));
    expect(checkState(world.state)).toEqual([]);
  });

  test("gets one task after a while, and waits twice as long when that fails, up to an hour", () => {
    const world = aQuarantine();
    const waits: number[] = [];
    for (let trial = 0; trial < 10; trial++) {
      const untilMs = nextTickMs(world.state, SETTINGS) ?? 0;
      waits.push(untilMs - world.nowMs);
      world.nowMs = untilMs - 1;
      tick(world);
      expect(phaseOf(world, "n1")).toBe("closed");
      world.nowMs = untilMs;
      tick(world);
      expect(phaseOf(world, "n1")).toBe("open");
      run(world, "n1", FAILED);
      expect(phaseOf(world, "n1")).toBe("closed");
    }
    expect(waits.slice(0, 3)).toEqual([quarantineMs, 2 * quarantineMs, 4 * quarantineMs]);
    expect(waits.at(-1)).toBe(quarantineMsMax);
  });

  test("is tried by one task at a time, and is released when that one works", () => {
    const world = aQuarantine();
    world.nowMs += quarantineMs;
    tick(world);
    const spec = aSpec({ array: "0-2", placement: { node: "n1" } });
    const submissions = [{ spec, idempotencyKey: undefined }];
    const [job] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
    expect(world.plan()).toHaveLength(1);
    expect(phaseOf(world, "n1")).toBe("trial");
    world.report("n1", [job?.id ?? 0, 0, 1], 0);
    world.settle();
    expect(phaseOf(world, "n1")).toBeUndefined();
    expect(world.plan()).toHaveLength(2);
    expect(checkState(world.state)).toEqual([]);
  });

  test("is tried again when its trial is inconclusive", () => {
    const world = aQuarantine();
    world.nowMs += quarantineMs;
    tick(world);
    run(world, "n1", { kind: "node-fault", message: "disk full" });
    expect(phaseOf(world, "n1")).toBe("open");
    expect(nodeOf(world, "n1").quarantine?.strikes).toBe(1);
  });

  test("is not left in a trial that ended just before the server stopped", () => {
    const world = aQuarantine();
    world.nowMs += quarantineMs;
    tick(world);
    const submissions = [{ spec: aSpec({ placement: { node: "n1" } }), idempotencyKey: undefined }];
    const [job] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: world.nowMs });
    world.plan();
    world.report("n1", [job?.id ?? 0, 0, 1], 1);
    world.restart(); // before it was evaluated
    expect(nextTickMs(world.state, SETTINGS)).toBe(0);
    tick(world);
    expect(phaseOf(world, "n1")).toBe("closed");
  });

  test("is used again when an operator undrains it, without old evidence", () => {
    const world = aQuarantine();
    world.do({ kind: "drain-node", nodeId: nodeId("n1"), drain: undefined });
    expect(phaseOf(world, "n1")).toBeUndefined();
    runMany(world, "n1", FAILED, quarantineJobs - 1);
    expect(phaseOf(world, "n1")).toBeUndefined();
  });

  test("stays quarantined when it is drained, and when its agent reconnects", () => {
    const world = aQuarantine();
    const drain = { reason: "look" };
    world.do({ kind: "drain-node", nodeId: nodeId("n1"), drain });
    world.do({ kind: "connect-node", ...aHello("n1", { session: 9, nowMs: world.nowMs }) });
    expect(phaseOf(world, "n1")).toBe("closed");
  });
});
