import { describe, expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { World } from "../../testing/world.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { ControlLoop } from "./control-loop.ts";
import { Ticker } from "./ticker.ts";

const settings = {
  nodeLostAfterMs: limits.nodeLostAfterMs,
  finishedTasksMax: limits.finishedTasksMax,
  finishedAgeMsMax: limits.finishedAgeMsMax,
};

/** A ticker with overdue work, over a loop that rejects ticks. */
function overdue(): { ticks: () => number; clock: FakeClock; ticker: Ticker } {
  const world = new World();
  const submissions = [{ spec: aSpec({ queueDeadlineMs: 1 }), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "test", nowMs: 0 });
  const clock = new FakeClock();
  let ticks = 0;
  const refusing: Pick<ControlLoop, "submit" | "wake"> = {
    wake: () => undefined,
    submit: () => {
      ticks++;
      return Promise.reject(new AppError("unavailable", "the store failed"));
    },
  };
  const loop = refusing as ControlLoop;
  const ticker = new Ticker({ state: world.state, loop, clock, logger: silentLogger, settings });
  ticker.arrange();
  return { ticks: () => ticks, clock, ticker };
}

/** Advances the clock millisecond by millisecond, and lets promises run in between. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at++) {
    clock.advance(1);
    await Promise.resolve();
    await Promise.resolve();
  }
}

describe("ticker", () => {
  test("retries a rejected tick after a pause, not without end", async () => {
    const { ticks, clock, ticker } = overdue();
    await pass(clock, 500);
    expect(ticks()).toBe(1);
    await pass(clock, limits.tickRetryMs);
    expect(ticks()).toBe(2);
    ticker.close();
    await pass(clock, 2 * limits.tickRetryMs);
    expect(ticks()).toBe(2);
    expect(clock.timers).toBe(0);
  });
});
