import { beforeEach, describe, expect, test } from "vitest";
import type { Ended } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunEnd, RunId } from "../../ports/executor.ts";
import { ServerTime } from "./server-time.ts";
import { FakeClock, settle } from "../../testing/fake-clock.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { useAgentBed } from "../testing/agent-bed.ts";

const HOUR_MS = 3_600_000;
const EXITED: RunEnd = { kind: "exited", exitCode: 0 };
const RUN: RunId = { jobId: 1, index: 0, attempt: 1 };

/** The server's time is the fake clock's; the agent's own clock is wrong, and may be set. */
class WrongClock implements Clock {
  readonly right: FakeClock;
  wrongMs = 0;

  constructor(right: FakeClock) {
    this.right = right;
  }

  nowMs(): number {
    return this.right.nowMs() + this.wrongMs;
  }

  steadyMs(): number {
    return this.right.nowMs() - 990_000;
  }

  after(delayMs: number, wake: () => void): () => void {
    return this.right.after(delayMs, wake);
  }
}

const bed = useAgentBed();
let clock: WrongClock;
let warnings: unknown[];

const startAgent = (): void =>
  bed.start({
    clock,
    logger: { ...silentLogger, warn: (fields) => void warnings.push(fields) },
  });

/** Welcome arrives `delayMs` after Hello. */
async function welcome(delayMs = 0): Promise<void> {
  await clock.right.pass(delayMs);
  const serverTimeMs = clock.right.nowMs();
  const value = { heartbeatIntervalMs: 5_000, serverTimeMs, wantsHealth: true, wantsClock: true };
  bed.server.last.send({ case: "welcome", value });
  await settle();
}

async function startRun(): Promise<void> {
  const spec = { job: 1, argv: ["true"] };
  const starts = [{ job: 1, index: 0, attempt: 1 }];
  bed.server.last.send({ case: "work", value: { specs: [spec], starts } });
  await clock.right.pass(1);
}

/** Time passes in which the server answers heartbeats. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) {
    await clock.right.pass(Math.min(left, 5_000));
    const serverTimeMs = clock.right.nowMs();
    bed.server.last.send({ case: "heartbeat", value: { intervalMs: 5_000, serverTimeMs } });
  }
}

/** By the agent's own clock, as the executor sees it. */
function begin(): number {
  const startedAtMs = clock.nowMs();
  bed.executor.report(RUN, { kind: "running", startedAtMs });
  return startedAtMs;
}

/** The last reported end, and the duration by the server's clock. */
function told(): { startedMs: number; tookMs: number } {
  const events = bed.server.last.all("reports").flatMap((reports) => reports.events);
  const ended = events.findLast(({ event }) => event.case === "ended")?.event.value as Ended;
  return { startedMs: ended.startedAtMs, tookMs: ended.endedAtMs - ended.startedAtMs };
}

beforeEach(() => {
  clock = new WrongClock(bed.clock);
  bed.executor.hasQueue = true; // a test decides when a run begins
  warnings = [];
});

describe("an agent whose clock is wrong", () => {
  test.each([
    ["an hour behind", -HOUR_MS],
    ["an hour ahead", HOUR_MS],
  ])("%s reports the server's times", async (_name, wrongMs) => {
    clock.wrongMs = wrongMs;
    startAgent();
    await welcome();
    await startRun();
    const trueStartMs = clock.right.nowMs();
    const startedAtMs = begin();
    await pass(50_000);
    bed.executor.report(RUN, { kind: "ended", startedAtMs, endedAtMs: clock.nowMs(), end: EXITED });
    await clock.right.pass(10);
    expect(told()).toEqual({ startedMs: trueStartMs, tookMs: 50_000 });
    expect(bed.server.last.all("clock").map(({ aheadMs }) => aheadMs)).toEqual([wrongMs]);
    expect(warnings).toEqual([{ clockOffsetMs: wrongMs }]);
  });

  test.each([
    ["back", -HOUR_MS],
    ["forward", HOUR_MS],
  ])("that is set %s while a task runs: the duration stays right", async (_name, byMs) => {
    startAgent();
    await welcome();
    await startRun();
    const trueStartMs = clock.right.nowMs();
    const startedAtMs = begin();
    clock.wrongMs = byMs;
    await pass(50_000);
    // Executors know the duration, and the start by the clock of that time.
    const endedAtMs = startedAtMs + 50_000;
    bed.executor.report(RUN, { kind: "ended", startedAtMs, endedAtMs, end: EXITED });
    await clock.right.pass(10);
    expect(told()).toEqual({ startedMs: trueStartMs, tookMs: 50_000 });
  });

  test("notices when its clock was set right", async () => {
    clock.wrongMs = -HOUR_MS;
    startAgent();
    await welcome();
    clock.wrongMs = 0;
    await clock.right.pass(5_000);
    const serverTimeMs = clock.right.nowMs();
    bed.server.last.send({ case: "heartbeat", value: { intervalMs: 5_000, serverTimeMs } });
    expect(bed.server.last.all("clock").map(({ aheadMs }) => aheadMs)).toEqual([-HOUR_MS, 0]);
  });

  test("finds runs after a restart that ended meanwhile, with their durations", async () => {
    clock.wrongMs = -HOUR_MS;
    const endedAtMs = clock.nowMs() - 10_000;
    const startedAtMs = endedAtMs - 50_000;
    bed.executor.report(RUN, { kind: "ended", startedAtMs, endedAtMs, end: EXITED });
    startAgent();
    await welcome();
    await clock.right.pass(10);
    expect(told().tookMs).toBe(50_000);
    expect(told().startedMs).toBe(startedAtMs + HOUR_MS);
  });

  test("reports nothing while the link's delay explains the difference", async () => {
    clock.wrongMs = 8_000;
    startAgent();
    await welcome(9_000); // the server may have written it at any time since Hello
    expect(bed.server.last.all("clock")).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test("a start by a clock that is behind is not before the executor received the run", async () => {
    startAgent();
    await welcome();
    await startRun();
    const receivedMs = clock.right.nowMs() - 1;
    const startedAtMs = clock.nowMs() - HOUR_MS; // as a scheduler below reports it
    bed.executor.report(RUN, {
      kind: "ended",
      startedAtMs,
      endedAtMs: startedAtMs + 500,
      end: EXITED,
    });
    await clock.right.pass(10);
    expect(told().startedMs).toBeGreaterThanOrEqual(receivedMs);
    expect(told().tookMs).toBeLessThanOrEqual(500);
  });
});

describe("the server's time", () => {
  const times = (wrongMs: number) => {
    const own = new WrongClock(new FakeClock());
    own.wrongMs = wrongMs;
    return { own, time: new ServerTime(own) };
  };

  test("a shorter exchange is more exact than a longer one", async () => {
    const { own, time } = times(-HOUR_MS);
    const sentMs = own.steadyMs();
    await own.right.pass(8_000);
    time.answered(sentMs, own.right.nowMs());
    expect(time.at(own.steadyMs())).toBe(own.right.nowMs() + 4_000);
    time.answered(own.steadyMs() - 20, own.right.nowMs());
    expect(time.at(own.steadyMs())).toBe(own.right.nowMs() + 10);
    time.answered(own.steadyMs() - 6_000, own.right.nowMs());
    expect(time.at(own.steadyMs())).toBe(own.right.nowMs() + 10);
  });

  test("a contradicting exchange counts: the server's clock was set", async () => {
    const { own, time } = times(0);
    time.answered(own.steadyMs() - 20, own.right.nowMs());
    expect(time.wrongByMs).toBeUndefined();
    time.answered(own.steadyMs() - 900, own.right.nowMs() + HOUR_MS);
    expect(time.wrongByMs).toBeLessThan(-HOUR_MS + limits.clockOffsetMsMax);
  });

  test("while nothing is known the agent's own clock counts", () => {
    const { own, time } = times(-HOUR_MS);
    expect(time.at(own.steadyMs())).toBe(own.nowMs());
  });
});
