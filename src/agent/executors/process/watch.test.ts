import { expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import type { ProcessRun } from "./run.ts";
import { strayTerms } from "./run.ts";
import type { Sessions } from "./sessions.ts";
import { Watch } from "./watch.ts";

const LOOK_MS = 50; // of the machine in these tests
const STOPS = 1_000;

/** A run with a stop order, whose session has the number of its index. */
const aStoppedRun = (index: number, nowMs: number): ProcessRun => ({
  id: { jobId: 1, index, attempt: 1 },
  key: `1.${index}.1`,
  terms: strayTerms(nowMs, undefined),
  hasBegun: true,
  state: {
    kind: "running",
    wrapper: { kind: "told" },
    stop: { cause: "stopped", killAtMs: nowMs + 60_000, sent: undefined },
  },
  left: undefined,
});

/** A watch over runs on a machine on which each pass over all processes takes some time. */
function aWatch() {
  const clock = new FakeClock();
  const active = new Set<ProcessRun>();
  const count = { passes: 0, signalled: 0 };
  let spentMs = 0;
  const slow = {
    nowMs: () => clock.nowMs() + spentMs,
    after: (delayMs: number, wake: () => void) => clock.after(delayMs, wake),
  };
  const pass = (): void => {
    count.passes += 1;
    spentMs += LOOK_MS;
  };
  const sessions: Sessions = {
    signal(these) {
      pass();
      count.signalled += these.length;
    },
    inhabited() {
      pass();
      return new Set();
    },
    killOrphans: pass,
  };
  const watch = new Watch({
    clock: slow,
    active,
    sessions,
    groups: { pidsOf: () => [], kill: () => undefined },
    survivors: { of: () => new Map() },
    isNative: () => true,
    directoryOf: () => "/nonexistent",
    readState: (key) => {
      const session = { pid: Number(key.split(".")[1]), startTicks: "1" };
      return { wrapper: session, session, outcome: undefined, writtenAtMs: 0 };
    },
    refresh: () => undefined,
    onWrapperKnown: () => undefined,
    onWrapperGone: () => undefined,
    onTimeLimit: () => undefined,
    onDeserted: () => undefined,
    alsoAt: () => undefined,
  });
  return { clock, active, watch, count, slow };
}

test("stops that come one after the other are signalled together", async () => {
  const { clock, active, watch, count, slow } = aWatch();
  for (let index = 1; index <= STOPS; index += 1) {
    active.add(aStoppedRun(index, slow.nowMs()));
    watch.lookSoon();
    await clock.pass(1);
  }
  await clock.pass(limits.watchRestMsMax);
  expect(count.signalled).toBe(STOPS);
  // Each pass is followed by a rest as long as itself.
  expect(count.passes).toBeLessThanOrEqual(STOPS / LOOK_MS + 2);
  watch.stop();
});

test("a single stop is signalled at once", async () => {
  const { clock, active, watch, count, slow } = aWatch();
  active.add(aStoppedRun(1, slow.nowMs()));
  watch.lookSoon();
  await clock.pass(0);
  expect(count).toEqual({ passes: 1, signalled: 1 });
  watch.stop();
});
