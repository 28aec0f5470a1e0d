import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, expect } from "vitest";

import type { LauncherKind } from "../../../src/agent/executors/process/process-executor.ts";
import type { Executor, RunId } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aRequest, endOfRun, readAll } from "./executor-contract.ts";
import type { ProcessBed } from "./process-bed.ts";
import { makeProcessBed } from "./process-bed.ts";

export const shell = (text: string) =>
  ({ kind: "command", argv: ["/bin/sh", "-c", text] }) as const;
export const idOf = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
export const exited = (exitCode: number) => ({ kind: "exited", exitCode });

export const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];

/** One bed and one executor for each test; a test may close the executor and open another. */
export interface LauncherSetup {
  readonly bed: ProcessBed;
  executor: Executor;
  readonly path: (name: string) => string;
  /** A command that waits for the file. */
  readonly waitFor: (name: string) => string;
  readonly start: (jobId: number, text: string) => void;
  readonly runOnce: (jobId: number, text: string) => Promise<{ end: unknown; stdout: string }>;
  /** Runs some commands, so that every launcher has started. */
  readonly warmUp: () => Promise<number[]>;
}

/** Registers the hooks of the file, or of the block, that calls it. */
export function setUpLauncher(kind: LauncherKind): LauncherSetup {
  let bed: ProcessBed;
  let executor: Executor;
  beforeEach(async () => {
    bed = makeProcessBed(kind);
    executor = await bed.open();
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });
  const start = (jobId: number, text: string): void =>
    executor.start(aRequest(shell(text), { id: idOf(jobId) }));
  const path = (name: string): string => join(bed.directory, name);
  return {
    get bed() {
      return bed;
    },
    get executor() {
      return executor;
    },
    set executor(next) {
      executor = next;
    },
    path,
    waitFor: (name) => `until [ -e ${path(name)} ]; do sleep 0.02; done`,
    start,
    async runOnce(jobId, text) {
      start(jobId, text);
      const { end } = await endOfRun(executor, idOf(jobId));
      return { end, stdout: (await readAll(executor, idOf(jobId), "stdout")).text };
    },
    async warmUp() {
      const ids = [901, 902, 903, 904];
      for (const jobId of ids) start(jobId, "exit 0");
      for (const jobId of ids) await endOfRun(executor, idOf(jobId));
      await eventually(() => bed.helpers("launcher").length === 2, { what: "two launchers" });
      return bed.helpers("launcher");
    },
  };
}

/** Daemons of ended runs write late: the output of later runs contains none of it. */
export async function expectStraysApart(setup: LauncherSetup): Promise<void> {
  const { path } = setup;
  await setup.executor.close();
  setup.executor = await setup.bed.open({ endsSurvivors: false });
  const strays = [1, 2, 3, 4];
  for (const jobId of strays) {
    const out = path(`out-${jobId}`);
    // In its own session, or it would be killed with the run.
    const stray = `: >${out}; ${setup.waitFor("go")}; echo stray; : >${out}.written`;
    await setup.runOnce(jobId, `setsid sh -c '${stray}' & ${setup.waitFor(`out-${jobId}`)}`);
    setup.executor.forget(idOf(jobId));
  }
  const later = [5, 6, 7, 8, 9, 10];
  for (const jobId of later) setup.start(jobId, `${setup.waitFor("end")}; echo own`);
  await eventually(() => setup.bed.processes().length >= later.length, { what: "all to run" });
  writeFileSync(path("go"), "");
  const hasWritten = (jobId: number): boolean => existsSync(path(`out-${jobId}.written`));
  await eventually(() => strays.every(hasWritten), { what: "all strays to have written" });
  writeFileSync(path("end"), "");
  for (const jobId of later) {
    await endOfRun(setup.executor, idOf(jobId));
    expect((await readAll(setup.executor, idOf(jobId), "stdout")).text).toBe("own\n");
  }
}

/** Launchers are killed in the middle of many starts: each command runs once, with one real end. */
export async function expectEachOnce(
  setup: LauncherSetup,
  count: number,
  disturb: (jobId: number) => Promise<void>,
): Promise<void> {
  const { executor, path } = setup;
  await setup.warmUp();
  const ends = new Map<number, number>();
  executor.onReport(({ jobId }, { kind }) => {
    if (kind === "ended") ends.set(jobId, (ends.get(jobId) ?? 0) + 1);
  });
  const jobIds = Array.from({ length: count }, (_none, index) => index + 1);
  for (const jobId of jobIds) {
    setup.start(jobId, `echo ${jobId} >>${path("executed")}; exit ${jobId % 100}`);
    if (jobId % 20 === 0) await disturb(jobId);
  }
  for (const jobId of jobIds) {
    expect((await endOfRun(executor, idOf(jobId))).end).toEqual(exited(jobId % 100));
  }
  const executed = linesOf(path("executed")).map(Number);
  expect(executed.sort((a, b) => a - b)).toEqual(jobIds);
  expect([...ends.values()].every((times) => times === 1)).toBe(true);
}

/** Signals that a shell reports like an exit code. */
export async function expectSignalsApart({ runOnce }: LauncherSetup): Promise<void> {
  const died = async (jobId: number, name: string): Promise<void> =>
    expect((await runOnce(jobId, `kill -${name} $$`)).end).toEqual({
      kind: "signalled",
      signal: `SIG${name}`,
    });
  await died(1, "INT");
  expect((await runOnce(2, "exit 130")).end).toEqual(exited(130));
  await died(3, "PIPE");
  expect((await runOnce(4, "exit 141")).end).toEqual(exited(141));
}
