import { afterEach, describe, expect, test } from "vitest";

import type { Executor, RunId, RunReport, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";

/** One place for runs, over which executors are opened one after another. */
export interface ExecutorBed {
  open(): Executor | Promise<Executor>;
  /** Ends an executor like kill -9: without any cleanup. */
  abandon(executor: Executor): Promise<void>;
  /** Removes everything, including running processes. */
  dispose(): Promise<void>;
}

/** Work of each kind, in words that the executor understands. */
export interface SampleWork {
  /** Ends at once with this exit code. */
  exiting(exitCode: number): RunRequest["work"];
  /** Writes to both streams, then ends. */
  printing(stdout: string, stderr: string): RunRequest["work"];
  /** Continues until it is stopped. */
  endless(): RunRequest["work"];
  /** Prints one line to stdout at each execution, then continues until it is stopped. */
  counting(line: string): RunRequest["work"];
  /** Is stopped by SIGSTOP, prints "frozen", and prints "bye" and ends when it gets TERM and continues; absent: it cannot be. */
  readonly frozen?: (() => RunRequest["work"]) | undefined;
}

export function aRequest(work: RunRequest["work"], over: Partial<RunRequest> = {}): RunRequest {
  return {
    id: { jobId: 1, index: 0, attempt: 1 },
    work,
    env: {},
    cwd: undefined,
    name: "contract",
    arrayIndex: undefined,
    request: undefined,
    needs: {},
    timeLimitMs: undefined,
    killGraceMs: 2_000,
    outputLimitBytes: 1_000_000,
    ...over,
  };
}

export type Ended = Extract<RunReport, { kind: "ended" }>;

export const sameRun = (a: RunId, b: RunId): boolean =>
  a.jobId === b.jobId && a.index === b.index && a.attempt === b.attempt;

export function reportFor(executor: Executor, id: RunId): RunReport | undefined {
  return executor.known().find((run) => sameRun(run.id, id))?.report;
}

export function endOfRun(executor: Executor, id: RunId, timeoutMs = 60_000): Promise<Ended> {
  return eventually(
    () => {
      const report = reportFor(executor, id);
      return report?.kind === "ended" ? report : undefined;
    },
    { what: `the end of run ${JSON.stringify(id)}`, timeoutMs },
  );
}

export async function readAll(
  executor: Executor,
  id: RunId,
  stream: "stdout" | "stderr",
): Promise<{ readonly text: string; readonly truncated: boolean }> {
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (;;) {
    const part = await executor.readOutput(id, stream, {
      offset,
      maxBytes: 65_536,
      waitMs: 10_000,
    });
    parts.push(part.data);
    offset += part.data.length;
    if (part.eof) return { text: Buffer.concat(parts).toString(), truncated: part.truncated };
  }
}

const ID: RunId = { jobId: 1, index: 0, attempt: 1 };
const UNKNOWN: RunId = { jobId: 99, index: 0, attempt: 1 };

/** The guarantees of src/ports/executor.ts, one by one. */
export function describeExecutorContract(
  name: string,
  work: SampleWork,
  makeBed: () => ExecutorBed,
): void {
  describe(`${name} keeps the executor contract`, () => {
    let bed: ExecutorBed | undefined;
    const opened: Executor[] = [];
    const open = async (): Promise<Executor> => {
      bed ??= makeBed();
      const executor = await bed.open();
      opened.push(executor);
      return executor;
    };
    afterEach(async () => {
      for (const executor of opened.splice(0)) await executor.close();
      await bed?.dispose();
      bed = undefined;
    });

    test("a run is reported running, then ended once, with its exit code", async () => {
      const executor = await open();
      const reports: RunReport[] = [];
      executor.onReport((id, report) => {
        expect(id).toEqual(ID);
        reports.push(report);
      });
      executor.start(aRequest(work.exiting(3)));
      const ended = await endOfRun(executor, ID);
      expect(ended.end).toEqual({ kind: "exited", exitCode: 3 });
      expect(ended.endedAtMs).toBeGreaterThanOrEqual(ended.startedAtMs ?? Infinity);
      expect(reports.filter((report) => report.kind === "ended")).toEqual([ended]);
      expect(reports.at(-1)).toEqual(ended);
      expect(reports.length).toBeLessThanOrEqual(2);
    });

    test("a run that is running is not started again", async () => {
      const executor = await open();
      executor.start(aRequest(work.counting("once")));
      executor.start(aRequest(work.counting("once")));
      await firstOutput(executor);
      executor.start(aRequest(work.counting("once")));
      executor.stop(ID);
      await endOfRun(executor, ID);
      expect((await readAll(executor, ID, "stdout")).text).toBe("once\n");
    });

    test("a run that has ended is not started again", async () => {
      const executor = await open();
      executor.start(aRequest(work.printing("a", "")));
      const ended = await endOfRun(executor, ID);
      executor.start(aRequest(work.printing("b", "")));
      expect(reportFor(executor, ID)).toEqual(ended);
      expect((await readAll(executor, ID, "stdout")).text).toBe("a");
    });

    test("a new executor finds active runs and reports their ends", async () => {
      const first = await open();
      first.start(aRequest(work.counting("once")));
      await firstOutput(first);
      const before = await eventually(() => reportFor(first, ID), { what: "its start" });
      await bed?.abandon(first);
      const second = await open();
      const reports: RunReport[] = [];
      second.onReport((_, report) => reports.push(report));
      expect(reportFor(second, ID)).toEqual(before);
      second.start(aRequest(work.counting("once")));
      second.stop(ID);
      const ended = await endOfRun(second, ID);
      expect(ended.end.kind).toBe("stopped");
      expect(reports).toEqual([ended]);
      expect((await readAll(second, ID, "stdout")).text).toBe("once\n");
    });

    test("a new executor knows runs that ended before it and while none was open", async () => {
      const first = await open();
      const other: RunId = { jobId: 2, index: 7, attempt: 2 };
      first.start(aRequest(work.exiting(4)));
      const ended = await endOfRun(first, ID);
      first.start(aRequest(work.exiting(5), { id: other }));
      await bed?.abandon(first);
      const second = await open();
      expect(reportFor(second, ID)).toEqual(ended);
      expect((await endOfRun(second, other)).end).toEqual({ kind: "exited", exitCode: 5 });
    });

    test("close leaves the work running", async () => {
      const first = await open();
      first.start(aRequest(work.endless()));
      await first.close();
      await first.close();
      const second = await open();
      await running(second);
      second.stop(ID);
      expect((await endOfRun(second, ID)).end.kind).toBe("stopped");
    });

    test("stopping or forgetting an unknown run is ignored", async () => {
      const executor = await open();
      executor.stop(UNKNOWN);
      executor.forget(UNKNOWN);
      expect(executor.known()).toEqual([]);
    });

    test("a run is not dropped while it is active", async () => {
      const executor = await open();
      executor.start(aRequest(work.endless()));
      executor.forget(ID);
      await running(executor);
      executor.forget(ID);
      await running(executor);
      executor.stop(ID);
      await endOfRun(executor, ID);
    });

    test("a dropped run is unknown, also to the next executor; its output may stay", async () => {
      const first = await open();
      first.start(aRequest(work.printing("kept", "")));
      await endOfRun(first, ID);
      first.forget(ID);
      expect(first.known()).toEqual([]);
      expect((await readAll(first, ID, "stdout")).text).toBe("kept");
      await bed?.abandon(first);
      const second = await open();
      expect(second.known()).toEqual([]);
      expect((await readAll(second, ID, "stdout")).text).toBe("kept");
    });

    test("a time limit ends a run", async () => {
      const executor = await open();
      executor.start(aRequest(work.endless(), { timeLimitMs: 50 }));
      expect((await endOfRun(executor, ID)).end.kind).toBe("time-limit");
    });

    const { frozen } = work;
    if (frozen !== undefined) {
      test("a run that SIGSTOP has stopped can end within its grace period", async () => {
        const executor = await open();
        executor.start(aRequest(frozen(), { killGraceMs: 120_000 }));
        expect(await firstOutput(executor)).toBe("frozen\n");
        executor.stop(ID);
        expect((await endOfRun(executor, ID, 30_000)).end.kind).toBe("stopped");
        expect((await readAll(executor, ID, "stdout")).text).toBe("frozen\nbye\n");
      });
    }

    test("both streams are separate and end with eof", async () => {
      const executor = await open();
      executor.start(aRequest(work.printing("to stdout", "to stderr")));
      expect(await readAll(executor, ID, "stdout")).toEqual({
        text: "to stdout",
        truncated: false,
      });
      expect(await readAll(executor, ID, "stderr")).toEqual({
        text: "to stderr",
        truncated: false,
      });
    });

    test("output beyond its limit is dropped, and marked as truncated", async () => {
      const executor = await open();
      executor.start(aRequest(work.printing("0123456789", "01234"), { outputLimitBytes: 5 }));
      await endOfRun(executor, ID);
      expect(await readAll(executor, ID, "stdout")).toEqual({ text: "01234", truncated: true });
      expect(await readAll(executor, ID, "stderr")).toEqual({ text: "01234", truncated: false });
    });

    test("output can be read while the run is active; no new output is an empty part", async () => {
      const executor = await open();
      executor.start(aRequest(work.counting("early")));
      expect(await firstOutput(executor)).toBe("early\n");
      const more = { offset: 6, maxBytes: 100, waitMs: 1 };
      expect(await executor.readOutput(ID, "stdout", more)).toEqual({
        data: new Uint8Array(),
        eof: false,
        truncated: false,
      });
      executor.stop(ID);
      await endOfRun(executor, ID);
    });

    test("output of an unknown run is not found", async () => {
      const executor = await open();
      const read = executor.readOutput(UNKNOWN, "stdout", { offset: 0, maxBytes: 1, waitMs: 0 });
      await expect(read).rejects.toMatchObject({ code: "not_found" });
    });

    /** Where there is a queue, not at once. */
    async function running(executor: Executor): Promise<void> {
      const isRunning = (): boolean => reportFor(executor, ID)?.kind === "running";
      await eventually(isRunning, { what: "the run to run" });
    }

    async function firstOutput(executor: Executor): Promise<string> {
      const how = { offset: 0, maxBytes: 100, waitMs: 10_000 };
      return Buffer.from((await executor.readOutput(ID, "stdout", how)).data).toString();
    }
  });
}
