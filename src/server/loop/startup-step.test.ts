import { describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { startupStep } from "./startup-step.ts";
import { silentLogger } from "../../testing/silent-logger.ts";

/** A clock that the test advances, and the logged lines. */
function createWorld() {
  const clock = new FakeClock(0);
  const told: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: unknown, message: string) => void told.push(message),
  };
  return { clock, logger, told };
}

const what = "the door to open";
const advice = "look for a key";

describe("a step of a start", () => {
  test("that ends at once logs nothing and leaves no timer", async () => {
    const world = createWorld();
    expect(await startupStep({ what, advice }, Promise.resolve(7), world)).toBe(7);
    expect(world.told).toEqual([]);
    expect(world.clock.timers).toBe(0);
  });

  test("logs what it waits for, repeatedly, and fails in the end with what to do", async () => {
    const world = createWorld();
    const step = startupStep({ what, advice }, new Promise<never>(() => undefined), world);
    world.clock.advance(limits.startupNoticeMs + limits.startupRepeatMs);
    expect(world.told).toEqual([`waiting for ${what}`, `waiting for ${what}`]);
    world.clock.advance(limits.startupStepMsMax);
    await expect(step).rejects.toThrow(`waited 60 s for ${what}; ${advice}`);
    expect(world.clock.timers).toBe(0);
  });

  test("whose work grows with the data logs its progress, and has no limit", async () => {
    const world = createWorld();
    const work = Promise.withResolvers<string>();
    let rows = 1;
    const progress = (): string => `${rows} rows`;
    const step = startupStep({ what, advice, progress }, work.promise, world);
    world.clock.advance(limits.startupNoticeMs);
    rows = 2;
    world.clock.advance(10 * limits.startupStepMsMax);
    expect(world.told[0]).toBe(`waiting for ${what}: 1 rows`);
    expect(world.told.at(-1)).toBe(`waiting for ${what}: 2 rows`);
    work.resolve("done");
    expect(await step).toBe("done");
  });
});
