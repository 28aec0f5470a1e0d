import { describe, expect, test } from "vitest";

import { FakeClock } from "../testing/fake-clock.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { limits } from "../limits.ts";
import type { RunReport } from "../ports/executor.ts";
import { Health } from "./health.ts";

const RUNNING: RunReport = { kind: "running", startedAtMs: 1 };
const fault = (message: string): RunReport => ({
  kind: "ended",
  startedAtMs: undefined,
  endedAtMs: 2,
  end: { kind: "node-fault", message },
});

function aHealth() {
  const clock = new FakeClock();
  const told: (string | undefined)[] = [];
  const answers: (string | undefined)[] = []; // of the next probes; undefined: they succeed
  const probedAtMs: number[] = [];
  const startMs = clock.nowMs();
  const health: Health = new Health({
    clock,
    logger: silentLogger,
    probe() {
      probedAtMs.push(clock.nowMs() - startMs);
      const answer = answers.shift();
      return answer === undefined ? Promise.resolve() : Promise.reject(new Error(answer));
    },
    onChange: () => told.push(health.sickness),
  });
  const wait = async (ms: number): Promise<void> => {
    for (let passed = 0; passed <= ms; passed += 50) {
      clock.advance(passed === 0 ? 0 : 50);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    }
  };
  return { health, told, answers, probedAtMs, wait };
}

describe("health of an agent", () => {
  test("a start that fails because of the machine makes it unhealthy; a probe that succeeds makes it healthy again", async () => {
    const { health, told, wait } = aHealth();
    health.heard(RUNNING);
    expect(health.sickness).toBeUndefined();
    health.heard(fault("disk full"));
    health.heard(fault("disk full")); // of runs that were being started
    expect(told).toEqual(["disk full"]);
    await wait(0);
    expect(told).toEqual(["disk full", undefined]);
  });

  test("a failed probe has a reason, and the waits between probes grow", async () => {
    const { health, told, answers, probedAtMs, wait } = aHealth();
    answers.push("gone", "gone", "still gone", "still gone");
    health.heard(fault("disk full"));
    const min = limits.probeDelayMsMin;
    await wait(16 * min);
    expect(probedAtMs).toEqual([0, min, 3 * min, 7 * min, 15 * min]);
    expect(told).toEqual(["disk full", "gone", "still gone", undefined]);
  });

  test("a machine that becomes unhealthy again before a start has worked waits longer for its probe", async () => {
    const { health, probedAtMs, wait } = aHealth();
    health.heard(fault("a"));
    await wait(0);
    health.heard(fault("b"));
    await wait(limits.probeDelayMsMin - 100);
    expect(probedAtMs).toHaveLength(1);
    await wait(200);
    expect(probedAtMs).toHaveLength(2);
    health.heard(RUNNING);
    health.heard(fault("c"));
    await wait(0);
    expect(probedAtMs).toHaveLength(3);
  });

  test("failures of the work do not affect the health of the machine", () => {
    const { health } = aHealth();
    const end = { kind: "could-not-start", message: "program not found" } as const;
    health.heard({ kind: "ended", startedAtMs: undefined, endedAtMs: 2, end });
    health.heard({
      kind: "ended",
      startedAtMs: 1,
      endedAtMs: 2,
      end: { kind: "exited", exitCode: 1 },
    });
    expect(health.sickness).toBeUndefined();
  });

  test("an executor without a probe is never unhealthy: another scheduler manages its machines", () => {
    const health = new Health({
      clock: new FakeClock(),
      logger: silentLogger,
      probe: undefined,
      onChange: () => expect.unreachable(),
    });
    health.heard(fault("one of many nodes"));
    expect(health.sickness).toBeUndefined();
  });
});
