import { expect, test } from "vitest";
import type { Usage } from "../../../src/core/model/job/usage.ts";
import type { RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, reportFor } from "./executor-contract.ts";
import { describeLaunchers, useProcessExecutor } from "./process-bed.ts";
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
    expect(Object.keys(usage ?? {})).toEqual(["cpuUs"]); // a shell measures no more
    return;
  }
  expect(usage?.maxRssKib).toBeGreaterThanOrEqual(HELD_KIB);
  expect(usage?.wallUs).toBeGreaterThanOrEqual(BURNT_US - TICK_US);
  expect(usage?.majorFaults).toBeGreaterThanOrEqual(0);
}

describeLaunchers("what runs used", (launcher) => {
  const own = useProcessExecutor(launcher);

  test("comes with the end, and stays with it in the next process of the agent", async () => {
    own.executor.start(aRequest(SPENDER, { id: ID }));
    const { usage, end } = await endOfRun(own.executor, ID);
    expect(end).toEqual({ kind: "exited", exitCode: 3 });
    expectSpent(usage, launcher);
    await own.bed.abandon(own.executor);
    own.executor = await own.bed.open();
    expect((await endOfRun(own.executor, ID)).usage).toEqual(usage);
  });

  test("is read from the launcher's record when no agent was running", async () => {
    own.executor.start(aRequest(SPENDER, { id: ID }));
    await eventually(() => own.bed.isTaken("1.0.1"), { what: "the run to begin" });
    await own.bed.abandon(own.executor);
    await eventually(() => own.bed.hasEnded("1.0.1"), { what: "the run to end" });
    own.executor = await own.bed.open();
    expectSpent((await endOfRun(own.executor, ID)).usage, launcher);
  });

  test("is measured of a run that is stopped", async () => {
    own.executor.start(aRequest(shell("sleep 1000"), { id: ID }));
    await eventually(() => reportFor(own.executor, ID)?.kind === "running", { what: "the start" });
    await eventually(() => own.bed.isTaken("1.0.1"), { what: "the run to begin" });
    own.executor.stop(ID);
    const { usage, end } = await endOfRun(own.executor, ID);
    expect(end.kind).toBe("stopped");
    if (launcher === "native") expect(usage?.wallUs).toBeGreaterThan(0);
  });

  test("is absent where nothing ran", async () => {
    own.executor.start(aRequest({ kind: "command", argv: ["/no/such/program"] }, { id: ID }));
    const { usage, end } = await endOfRun(own.executor, ID);
    expect([end.kind, usage]).toEqual(["could-not-start", undefined]);
  });
});
