import { describe, expect, test } from "vitest";
import { plot, renderStatistics } from "./render-statistics.ts";
import { type GeneratedJob, PARTS, statisticsOf } from "./statistics.ts";
import { dueNow, Workload } from "./workload.ts";

const aJob = (at: number, more: Partial<GeneratedJob> = {}): GeneratedJob => ({
  id: `${at}`,
  wattSeconds: 400,
  state: "succeeded",
  submittedAtMs: 1_000_000 + at * 1_000,
  startedAtMs: 1_000_000 + at * 1_000 + 10 * at,
  endedAtMs: 1_000_000 + at * 1_000 + 2_000,
  ...more,
});

describe("statistics", () => {
  test("rates, waits and energy of jobs that ended; the others are only counted", () => {
    const open = { state: "running", startedAtMs: undefined, endedAtMs: undefined };
    const jobs = [...Array.from({ length: 100 }, (_, at) => aJob(at)), aJob(100, open)];
    const statistics = statisticsOf(jobs);
    expect(statistics).toMatchObject({
      jobs: 101,
      states: { succeeded: 100, running: 1 },
      wattSeconds: 40_000,
      seconds: 101,
      submittedPerSecond: 1.01,
      endedPerSecond: 0.99,
      waitMs: { p50: 490, p99: 980, max: 990 },
      tookMs: { p50: 2_000, p99: 2_000, max: 2_000 },
    });
    expect(statistics.ends).toHaveLength(PARTS);
    expect(statistics.ends.reduce((sum, one) => sum + one, 0)).toBe(100);
  });

  test("no jobs, and jobs that never started, are shown without the missing numbers", () => {
    expect(statisticsOf([])).toMatchObject({ jobs: 0, seconds: 0, endedPerSecond: 0 });
    const never = { state: "cancelled", startedAtMs: undefined, endedAtMs: undefined };
    expect(statisticsOf([aJob(0, never)])).not.toHaveProperty("waitMs");
  });

  test("a plot has a character for each part, the tallest for the most", () => {
    expect(plot([0, 1, 4, 8])).toBe(" ▁▄█");
    const page = { width: 80, colour: false, nowMs: 0 };
    const text = renderStatistics(statisticsOf([aJob(0), aJob(1)]), page);
    expect(text).toMatch(/Jobs: +2: 2 succeeded/);
    expect(text).toMatch(/Wait: +p50 0ms, p99 10ms, at most 10ms/);
    expect(text).toMatch(/█ +ends over 3 s, at most 1|█ {2}ends over 3 s, at most 1/);
  });
});

describe("the number of due jobs", () => {
  const usual = {
    elapsedMs: 1_000,
    ratePerSecond: 5,
    made: 0,
    count: 200,
    unfinished: 0,
    backlogMax: 100,
  };
  test.each([
    ["the first at once", { elapsedMs: 0 }, 1],
    ["by the rate since the start", {}, 6],
    ["less those that were made", { made: 6 }, 0],
    ["within the backlog", { unfinished: 98 }, 2],
    ["nothing beyond it", { unfinished: 150 }, 0],
    ["up to the count", { elapsedMs: 1e9, made: 199 }, 1],
  ])("%s", (_name, more, want) => {
    expect(dueNow({ ...usual, ...more })).toBe(want);
  });

  test("the same seed draws the same energies, within their range", () => {
    const drawn = (seed: number): number[] => {
      const workload = new Workload(seed, { from: 300, to: 500 });
      return Array.from({ length: 500 }, () => workload.next().wattSeconds);
    };
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
    expect(Math.min(...drawn(1))).toBeGreaterThanOrEqual(300);
    expect(Math.max(...drawn(1))).toBeLessThanOrEqual(500);
    expect(new Set(drawn(1)).size).toBeGreaterThan(100);
  });
});
