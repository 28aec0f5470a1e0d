import { describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { HeartbeatSchedule } from "./heartbeat-schedule.ts";

const SHORTEST = limits.heartbeatIntervalMs;
const LONGEST = limits.heartbeatIntervalMsMax;

/** Simulates agents that follow their intervals; returns how many heartbeats arrive in each second. */
function play(agents: number, seconds: number): number[] {
  const schedule = new HeartbeatSchedule();
  const perSecond = Array.from({ length: seconds }, () => 0);
  const due = new Map<number, number>([[0, agents]]); // all at once, as after a restart
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs++) {
    for (let count = due.get(nowMs) ?? 0; count > 0; count--) {
      const atMs = nowMs + schedule.next(nowMs);
      due.set(atMs, (due.get(atMs) ?? 0) + 1);
      perSecond[Math.floor(nowMs / 1_000)]! += 1;
    }
    due.delete(nowMs);
  }
  return perSecond;
}

describe("intervals of heartbeats", () => {
  test("few agents send heartbeats at the shortest interval", () => {
    const schedule = new HeartbeatSchedule();
    for (let nowMs = 0; nowMs < 60_000; nowMs += 1_000) {
      expect(schedule.next(nowMs)).toBe(SHORTEST);
    }
  });

  for (const agents of [1_000, 5_000, 10_000]) {
    test(`the heartbeats of ${agents} agents that connected at once are spread out and never exceed the rate`, () => {
      const perSecond = play(agents, 100).slice(1);
      const rate = limits.heartbeatsPerSecondMax;
      // A second may have one turn of a quarter of a second more than others.
      expect(Math.max(...perSecond.slice(20))).toBeLessThanOrEqual(rate * 1.25);
      expect(perSecond.slice(-40).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(
        agents * Math.floor(40_000 / LONGEST),
      );
    });
  }

  test("heartbeats due within a quarter of a second share a turn", () => {
    const schedule = new HeartbeatSchedule();
    const dueMs = Array.from({ length: 2_500 }, (_, at) => at + schedule.next(at));
    expect(dueMs.every((ms) => ms % 250 === 0)).toBe(true);
    expect(new Set(dueMs).size).toBeLessThanOrEqual(21);
  });

  test("no interval is longer than the longest, however many agents there are", () => {
    const schedule = new HeartbeatSchedule();
    const intervals = Array.from({ length: 50_000 }, () => schedule.next(1_000));
    expect(Math.max(...intervals)).toBe(LONGEST);
  });

  test("a clock that is set back changes nothing for long", () => {
    const schedule = new HeartbeatSchedule();
    schedule.next(10_000_000);
    expect(schedule.next(0)).toBeLessThanOrEqual(LONGEST);
    expect(schedule.next(LONGEST)).toBe(SHORTEST);
  });
});
