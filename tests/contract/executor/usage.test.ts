import { afterEach, beforeEach, expect, test } from "vitest";

import type { Usage } from "../../../src/core/model/job/usage.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, reportFor } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";
import { shell } from "./process-behaviour.ts";

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const BURNT_US = 200_000;
const HELD_KIB = 60_000;
/** In a child that the command waits for: it uses that much CPU and memory, no less. */
const SPENDER = shell(
  `perl -e 'my $held = "x" x (${HELD_KIB} * 1024); 1 while (times)[0] < ${BURNT_US / 1e6}'; exit 3`,
);
/** `times` in a shell and in Perl counts hundredths of a second. */
const TICK_US = 10_000;

function expectSpent(usage: Usage | undefined, launcher: string): void {
  expect(usage?.cpuUs).toBeGreaterThanOrEqual(BURNT_US - TICK_US);
  if (launcher === "spawn") {
    expect(Object.keys(usage ?? {})).toEqual(["cpuUs"]); // a shell knows no more
    return;
  }
  expect(usage?.maxRssKib).toBeGreaterThanOrEqual(HELD_KIB);
  expect(usage?.wallUs).toBeGreaterThanOrEqual(BURNT_US - TICK_US);
  expect(usage?.majorFaults).toBeGreaterThanOrEqual(0);
}

describeLaunchers("what runs used", (launcher) => {
  let bed: ProcessBed;
  let executor: Executor;

  beforeEach(async () => {
    bed = makeProcessBed(launcher);
    executor = await bed.open();
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });

  test("comes with the end, and stays with it in the next life of the agent", async () => {
    executor.start(aRequest(SPENDER, { id: ID }));
    const { usage, end } = await endOfRun(executor, ID);
    expect(end).toEqual({ kind: "exited", exitCode: 3 });
    expectSpent(usage, launcher);
    await bed.abandon(executor);
    executor = await bed.open();
    expect((await endOfRun(executor, ID)).usage).toEqual(usage);
  });

  test("is read from what the launcher left when no agent was there", async () => {
    executor.start(aRequest(SPENDER, { id: ID }));
    await eventually(() => bed.isTaken("1.0.1"), { what: "the run to begin" });
    await bed.abandon(executor);
    await eventually(() => bed.hasEnded("1.0.1"), { what: "the run to end" });
    executor = await bed.open();
    expectSpent((await endOfRun(executor, ID)).usage, launcher);
  });

  test("is measured of a run that is stopped", async () => {
    executor.start(aRequest(shell("sleep 1000"), { id: ID }));
    await eventually(() => reportFor(executor, ID)?.kind === "running", { what: "the start" });
    await eventually(() => bed.isTaken("1.0.1"), { what: "the run to begin" });
    executor.stop(ID);
    const { usage, end } = await endOfRun(executor, ID);
    expect(end.kind).toBe("stopped");
    if (launcher === "native") expect(usage?.wallUs).toBeGreaterThan(0);
  });

  test("is absent where nothing ran", async () => {
    executor.start(aRequest({ kind: "command", argv: ["/no/such/program"] }, { id: ID }));
    const { usage, end } = await endOfRun(executor, ID);
    expect([end.kind, usage]).toEqual(["could-not-start", undefined]);
  });
});
