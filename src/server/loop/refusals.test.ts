import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { checkState } from "../../testing/check/check-state.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { nodeId } from "../../core/model/ids.ts";
import { nextPlacement, type Planner } from "../../core/scheduler/plan.ts";
import { createPolicy } from "../../core/scheduler/policy.ts";
import { State } from "../../core/state/state.ts";
import type { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import { ControlLoop } from "./control-loop.ts";
import { Ticker } from "./ticker.ts";

const settings = { nodeLostAfterMs: 1e9, finishedAgeMsMax: 1e9, finishedTasksMax: 1e9 };

/** A loop whose planner proposes nodes that the judge rejects while `lies.on`. */
function aLoop() {
  const state = new State();
  const clock = new FakeClock();
  const lies = { on: true, told: 0 };
  const errors: unknown[] = [];
  const broken: AppError[] = [];
  const logger: Logger = { ...silentLogger, error: (fields) => void errors.push(fields) };
  const plan: Planner = (view, policy, bounds) => {
    const placement = nextPlacement(view, policy, bounds);
    if (!lies.on || placement === undefined) return placement;
    lies.told++;
    const drained = state.nodes.get(nodeId("drained"));
    return drained && { ...placement, target: { kind: "node", node: drained } };
  };
  const loop: ControlLoop = new ControlLoop({
    state,
    store: createMemoryStore(new MemoryDisk()),
    clock,
    logger,
    policy: createPolicy({ policy: "spread" }, () => 0),
    plan,
    soon: (run) => setImmediate(run),
    onCommit: () => ticker.arrange(),
    onBroken: (error) => broken.push(error),
  });
  const ticker = new Ticker({ state, loop, clock, logger, settings });
  return { state, clock, lies, errors, broken, loop };
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

async function prepare({ loop }: ReturnType<typeof aLoop>, jobs: number): Promise<void> {
  const capacity = { cpu: 8_000 };
  await loop.submit({ kind: "connect-node", ...aHello("good", { capacity, session: 1 }) });
  await loop.submit({ kind: "connect-node", ...aHello("drained", { capacity, session: 2 }) });
  const drain = { reason: "" };
  await loop.submit({ kind: "drain-node", nodeId: nodeId("drained"), drain, by: "t" });
  const submissions = Array.from({ length: jobs }, () => ({
    spec: aSpec(),
    idempotencyKey: undefined,
  }));
  await loop.submit({ kind: "submit-jobs", submissions, by: "test", nowMs: 0 });
  await settle();
}

describe("a planner with wrong proposals", () => {
  test("is rejected, counted and asked again later, and the server continues", async () => {
    const it = aLoop();
    await prepare(it, 3);
    expect(it.broken).toEqual([]);
    expect(it.loop.metrics.placements).toBe(0);
    expect(it.state.nodes.get(nodeId("drained"))?.tasks.size).toBe(0);
    const told = it.lies.told;
    expect(it.loop.metrics.placementsRefused).toBe(told);
    expect(checkState(it.state)).toEqual([]);

    await settle(); // the loop does not retry without a reason
    expect(it.lies.told).toBe(told);
    it.clock.advance(limits.placementRetryMs - 1);
    await settle();
    expect(it.lies.told).toBe(told);
    it.clock.advance(1);
    await settle();
    expect(it.lies.told).toBe(told + 1);
    // Again and again, also when nothing else happens.
    it.clock.advance(limits.placementRetryMs);
    await settle();
    expect(it.lies.told).toBe(told + 2);

    it.lies.on = false;
    it.clock.advance(limits.placementRetryMs);
    await settle();
    expect(it.loop.metrics.placements).toBe(3);
    expect(it.state.nodes.get(nodeId("good"))?.tasks.size).toBe(3);
    expect(checkState(it.state)).toEqual([]);
  });

  test("is asked again when a node has free capacity, and other tasks are placed meanwhile", async () => {
    const it = aLoop();
    await prepare(it, 1);
    it.lies.on = false;
    const submissions = [{ spec: aSpec({ resources: { cpu: 2 } }), idempotencyKey: undefined }];
    await it.loop.submit({ kind: "submit-jobs", submissions, by: "test", nowMs: 0 });
    await settle();
    expect(it.loop.metrics.placements).toBe(1);
    const capacity = { cpu: 1_000 };
    await it.loop.submit({ kind: "connect-node", ...aHello("new", { capacity, session: 3 }) });
    await settle();
    expect(it.state.nodes.get(nodeId("new"))?.tasks.size).toBe(1);
  });

  test("one rejection a minute is logged, with the number of the others", async () => {
    const it = aLoop();
    await prepare(it, 1);
    const tries = limits.refusalLogMs / limits.placementRetryMs;
    for (let count = 0; count < tries; count++) {
      it.clock.advance(limits.placementRetryMs);
      await settle();
    }
    expect(it.errors).toEqual([
      { task: "1.0", reason: "node drained: drained", others: 0 },
      { task: "1.0", reason: "node drained: drained", others: it.lies.told - 2 },
    ]);
  });
});
