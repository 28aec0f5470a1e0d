import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { toSteps } from "../../../core/jobspec/write/to-steps.ts";
import { limits } from "../../../limits.ts";
import type { Executor, RunId, RunRequest } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createLowerExecutor } from "../lower-executor.ts";
import { FakeScheduler } from "./fake-scheduler.ts";

const JOBSPEC = `version: 1
resources: {one: {type: core, count: 1}}
tasks:
  - {name: a, command: ["true"], resources: one}
  - {name: b, command: ["true"], resources: one, replicas: 2, depends_on: [a]}
  - {name: c, command: ["true"], resources: one, depends_on: [b]}
`;

export const run = (jobId: number, index = 0): RunId => ({ jobId, index, attempt: 1 });

/** The executor over a fake scheduler, on a fake clock. */
export class LowerBed {
  directory!: string;
  clock!: FakeClock;
  scheduler!: FakeScheduler;
  executor!: Executor;
  reports: string[] = [];
  log: string[] = [];

  async begin(): Promise<void> {
    this.directory = mkdtempSync(join(tmpdir(), "busbar-lower-"));
    this.clock = new FakeClock();
    this.scheduler = new FakeScheduler();
    this.reports = [];
    this.log = [];
    await this.open();
  }

  async open(): Promise<void> {
    const { directory, scheduler, clock } = this;
    const note = (level: string) => (_: unknown, message: string) =>
      void this.log.push(`${level}: ${message}`);
    const logger: Logger = {
      ...silentLogger,
      info: note("info"),
      warn: note("warn"),
      error: note("error"),
    };
    this.executor = await createLowerExecutor({ directory, scheduler, toSteps, clock, logger });
    this.executor.onReport((id, report) => {
      const what = report.kind === "running" ? "" : ` ${JSON.stringify(report.end)}`;
      this.reports.push(`${id.jobId}.${id.index} ${report.kind}${what}`);
    });
  }

  /** Simulates kill -9: another process over the same directory. */
  async reopen(): Promise<void> {
    await this.executor.close();
    this.reports = [];
    await this.open();
  }

  async close(): Promise<void> {
    await this.executor.close();
    expect(this.clock.timers).toBe(0);
    rmSync(this.directory, { recursive: true, force: true });
  }

  start(id: RunId, over: Partial<RunRequest> = {}): void {
    this.executor.start({
      id,
      name: "job",
      work: { kind: "command", argv: ["true"] },
      env: {},
      cwd: undefined,
      arrayIndex: undefined,
      request: undefined,
      needs: {},
      timeLimitMs: undefined,
      killGraceMs: 2_000,
      outputLimitBytes: 1_000,
      ...over,
    });
  }

  startJobspec(id: RunId): void {
    this.start(id, { work: { kind: "jobspec", text: JOBSPEC } });
  }

  /** Long enough for a round. */
  async aRound(): Promise<void> {
    await this.clock.pass(limits.lowerPollMsMin + limits.lowerGatherMs);
  }

  /** Writes a file as the wrapper of a run would, into its directory. */
  leave(key: string, name: string, text: string): void {
    mkdirSync(join(this.directory, "runs", key), { recursive: true });
    writeFileSync(join(this.directory, "runs", key, name), text);
  }
}

/** A new directory, clock and scheduler for each test; at the end no timer is left. */
export function useLowerBed(): LowerBed {
  const bed = new LowerBed();
  beforeEach(async () => await bed.begin());
  afterEach(async () => await bed.close());
  return bed;
}
