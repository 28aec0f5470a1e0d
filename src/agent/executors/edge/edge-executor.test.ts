import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSchedule } from "../../../core/model/node/schedule-spec.ts";
import type { ReportedProgress } from "../../../core/model/job/task-progress.ts";
import type { RunReport, RunRequest } from "../../../ports/executor.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { runs } from "../../../testing/runs.ts";
import { EdgeExecutor } from "./edge-executor.ts";
import { PowerSchedule } from "./power-schedule.ts";

const id = { jobId: 1, index: 0, attempt: 1 };
const share = (shareWattSeconds: number): RunRequest =>
  ({ id, shareWattSeconds }) as unknown as RunRequest;

describe("schedules", () => {
  test("a seed gives the draws of the earlier system, different for each edge", () => {
    const steps = (edge: number): number[] => {
      const schedule = new PowerSchedule({ kind: "seed", seed: 7 }, edge);
      return Array.from({ length: 50 }, (_, minute) => schedule.wattsAt(minute * 60_000));
    };
    expect(steps(0)).toEqual(steps(0));
    expect(steps(0)).not.toEqual(steps(1));
    expect(steps(0)[0]).toBe(5);
    const all = new Set([0, 1, 2, 3, 4, 5].flatMap(steps));
    expect([...all].toSorted((a, b) => a - b)).toEqual([5, 10, 22, 37]);
  });

  test("energy and its duration are inverse to each other", () => {
    const moment = fc.integer({ min: 0, max: 1e8 });
    fc.assert(
      fc.property(fc.nat(1_000), moment, fc.integer({ min: 0, max: 1e6 }), (seed, from, energy) => {
        const schedule = new PowerSchedule({ kind: "seed", seed }, 3);
        const until = schedule.whenUsed(from, energy) ?? Number.NaN;
        expect(schedule.energy(from, until)).toBeCloseTo(energy, 3);
        const middle = from + Math.floor((until - from) / 2);
        const parts = schedule.energy(from, middle) + schedule.energy(middle, until);
        expect(parts).toBeCloseTo(energy, 3);
      }),
      { numRuns: runs(200) },
    );
  });

  test.each([
    ["seed:7", { kind: "seed", seed: 7 }],
    ["22", { kind: "constant", watts: 22 }],
    ["0", { kind: "constant", watts: 0 }],
  ])("%s is valid", (text, spec) => {
    expect(parseSchedule(text, "--power-schedule")).toEqual(spec);
  });

  test.each(["", "seed:", "seed:x", "-1", "1.5", "99999999999"])("%j is invalid", (text) => {
    expect(() => parseSchedule(text, "--power-schedule")).toThrow(
      "write seed:7, watts like 22, or a file",
    );
  });
});

function anEdge(watts: string, speedup = 1) {
  const clock = new FakeClock();
  const schedule = new PowerSchedule(parseSchedule(watts, "w"), 0);
  const edge = new EdgeExecutor({ clock, schedule, speedup });
  const reports: RunReport[] = [];
  const told: ReportedProgress[] = [];
  edge.onReport((_id, report) => reports.push(report));
  edge.onProgress((_id, progress) => told.push(progress));
  return { clock, edge, reports, told };
}

describe("a simulated edge", () => {
  test("takes energy / power / speedup, reports its progress, and ends at 100", () => {
    const { clock, edge, reports, told } = anEdge("20", 10);
    edge.start(share(400)); // 400 Ws at 20 W: 20 s, in 2 s of real time
    clock.advance(1_000);
    edge.tell();
    edge.tell();
    expect(told).toEqual([{ percent: 50, message: "" }]);
    clock.advance(999);
    expect(reports).toHaveLength(1);
    clock.advance(1);
    expect(reports[1]).toMatchObject({
      kind: "ended",
      end: { kind: "exited", exitCode: 0 },
      progress: { percent: 100 },
    });
    expect(edge.used).toBe(400);
    edge.forget(id);
    expect(edge.known()).toEqual([]);
    expect(clock.timers).toBe(0);
  });

  test("a stopped share reports its progress, and its start is reported once", () => {
    const { clock, edge, reports } = anEdge("10");
    edge.start(share(100));
    edge.start(share(100));
    clock.advance(2_500);
    edge.stop(id);
    edge.stop(id);
    expect(reports.map(({ kind }) => kind)).toEqual(["running", "ended"]);
    expect(reports[1]).toMatchObject({ end: { kind: "stopped" }, progress: { percent: 25 } });
    expect(edge.used).toBe(25);
  });

  test("without power no share progresses; a share of nothing ends at once", () => {
    const { clock, edge, reports, told } = anEdge("0");
    edge.start(share(1));
    clock.advance(1e9);
    edge.tell();
    expect([reports.length, told.length]).toEqual([1, 0]);
    const other = anEdge("5");
    other.edge.start(share(0));
    other.clock.advance(0);
    expect(other.reports).toHaveLength(2);
  });

  test("reports its present power and the next change, by the clock", () => {
    const { clock, edge } = anEdge("seed:7", 20);
    const { watts, changes = [] } = edge.power();
    expect(watts).toBe(5);
    const [change] = changes;
    const inMs = (change?.atMs ?? 0) - clock.nowMs();
    expect(inMs % 3_000).toBe(0); // minutes, twenty times as fast
    expect(edge.msToNextChange()).toBe(inMs);
    clock.advance(inMs);
    expect(edge.power().watts).toBe(change?.watts);
  });
});
