import { describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import { startupStep } from "./startup-step.ts";

interface Timer {
  readonly atMs: number;
  readonly wake: () => void;
}

/** Time that stands still until it is moved. */
function createWorld() {
  let nowMs = 0;
  const timers = new Set<Timer>();
  const told: string[] = [];
  const silent = (): void => undefined;
  const warn: Logger["warn"] = (_, message) => void told.push(message);
  const clock = {
    nowMs: () => nowMs,
    after(delayMs: number, wake: () => void) {
      const timer = { atMs: nowMs + delayMs, wake };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  };
  const move = (ms: number): void => {
    const end = nowMs + ms;
    for (;;) {
      const [next] = [...timers].filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      timers.delete(next);
      nowMs = next.atMs;
      next.wake();
    }
    nowMs = end;
  };
  const logger: Logger = { debug: silent, info: silent, warn, error: silent };
  return { clock, logger, told, timers, move };
}

const what = "the door to open";
const advice = "look for a key";

describe("a step of a start", () => {
  test("that ends at once says nothing and leaves no timer", async () => {
    const world = createWorld();
    expect(await startupStep({ what, advice }, Promise.resolve(7), world)).toBe(7);
    expect(world.told).toEqual([]);
    expect(world.timers.size).toBe(0);
  });

  test("says what it waits for, again and again, and fails in the end with what to do", async () => {
    const world = createWorld();
    const step = startupStep({ what, advice }, new Promise<never>(() => undefined), world);
    world.move(limits.startupNoticeMs + limits.startupRepeatMs);
    expect(world.told).toEqual([`waiting for ${what}`, `waiting for ${what}`]);
    world.move(limits.startupStepMsMax);
    await expect(step).rejects.toThrow(`waited 60 s for ${what}; ${advice}`);
    expect(world.timers.size).toBe(0);
  });

  test("whose work grows with the data says how far it is, and has no limit", async () => {
    const world = createWorld();
    const work = Promise.withResolvers<string>();
    let rows = 1;
    const progress = (): string => `${rows} rows`;
    const step = startupStep({ what, advice, progress }, work.promise, world);
    world.move(limits.startupNoticeMs);
    rows = 2;
    world.move(10 * limits.startupStepMsMax);
    expect(world.told[0]).toBe(`waiting for ${what}: 1 rows`);
    expect(world.told.at(-1)).toBe(`waiting for ${what}: 2 rows`);
    work.resolve("done");
    expect(await step).toBe("done");
  });
});
