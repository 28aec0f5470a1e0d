import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import type { EndedReport, RunId, RunReport } from "../../../ports/executor.ts";
import { FakeClock, settle } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { idOf } from "../run-key.ts";
import type { RememberedRun, StopOrder } from "./run-entries.ts";
import { RunLedger } from "./run-ledger.ts";

interface Terms {
  readonly name: string;
}
interface TestRun {
  readonly id: RunId;
  readonly key: string;
  readonly terms: Terms;
  stop: StopOrder | undefined;
  report: RunReport | undefined;
}
interface Colour {
  readonly kind: "colour";
  readonly key: string;
  readonly colour: string;
}

const ended = (exitCode: number): EndedReport => ({
  kind: "ended",
  startedAtMs: 1,
  endedAtMs: 2,
  end: { kind: "exited", exitCode },
});
const aRun = (key: string): TestRun => ({
  id: idOf(key),
  key,
  terms: { name: `of ${key}` },
  stop: undefined,
  report: undefined,
});
const outputOf = (bytes: number) => ({
  forgottenAtMs: clock.nowMs(),
  bytes,
  outputLimitBytes: 1_000,
});

let directory: string;
let clock: FakeClock;
let removed: string[];
let colours: Map<string, string>;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-ledger-"));
  clock = new FakeClock();
  removed = [];
  colours = new Map();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

type TestLedger = RunLedger<TestRun, Terms, Colour>;

/** A ledger over the test's directory, as an agent opens it; an earlier agent may just have been killed. */
function open(runsMax = 10): {
  ledger: TestLedger;
  remembered: ReadonlyMap<string, RememberedRun<Terms>>;
} {
  colours.clear();
  const ledger: TestLedger = new RunLedger<TestRun, Terms, Colour>({
    clock,
    logger: silentLogger,
    keptBounds: { runsMax, bytesMax: 1_000, ageMsMax: 60_000 },
    firstEntry: "started",
    reportOf: ({ report }) => report,
    stopOf: ({ stop }) => stop,
    summary: { after: () => Array.from(colours, ([key, colour]) => aColour(key, colour)) },
    onReplaced: (key) => removed.push(`replaced ${key}`),
    onRemoved: (key) => removed.push(key),
  });
  const remembered = ledger.read(directory, {
    read: ({ key, colour }) => void colours.set(key, colour),
  });
  for (const [key, { stop, ended: report }] of remembered) {
    ledger.restore({ ...aRun(key), stop, report });
  }
  ledger.open(directory);
  return { ledger, remembered };
}

const aColour = (key: string, colour: string): Colour => ({ kind: "colour", key, colour });
const journal = (): string => readFileSync(join(directory, "journal.ndjson"), "utf8");
function end(ledger: TestLedger, run: TestRun, exitCode = 0): void {
  const report = ended(exitCode);
  run.report = report;
  ledger.end(run, report);
}

test("a run is accepted once, until the ledger drops it", () => {
  const { ledger } = open();
  const run = aRun("1.0.1");
  expect(ledger.canAccept(run.key)).toBe(true);
  ledger.accept(run);
  expect(ledger.canAccept(run.key)).toBe(false);
  end(ledger, run);
  expect(ledger.canAccept(run.key)).toBe(false);
  ledger.forget(run, outputOf(1));
  expect(ledger.canAccept(run.key)).toBe(true);
  ledger.accept(aRun("1.0.1"));
  expect(removed).toEqual(["replaced 1.0.1"]);
  expect(ledger.kept.has("1.0.1")).toBe(false);
  ledger.close();
  expect(ledger.canAccept("2.0.1")).toBe(false);
});

test("steps and listeners run after the journal has written their cause", async () => {
  const { ledger } = open();
  const seen: string[] = [];
  ledger.onReport((_, report) => {
    seen.push(`${report.kind}, written: ${journal().includes('"kind":"ended"')}`);
  });
  const run = aRun("1.0.1");
  ledger.accept(run);
  ledger.after(() => seen.push(`accepted, written: ${journal().includes('"kind":"started"')}`));
  end(ledger, run);
  expect(journal()).toBe("");
  await settle();
  expect(seen).toEqual(["accepted, written: true", "ended, written: true"]);
  ledger.close();
});

test("the next process finds runs, stops, ends, outputs and the executor's own entries", async () => {
  const first = open().ledger;
  const runs = ["1.0.1", "2.0.1", "3.0.1", "4.0.1"].map(aRun);
  for (const run of runs) first.accept(run);
  const [active, stopped, over, forgotten] = runs as [TestRun, TestRun, TestRun, TestRun];
  stopped.stop = first.orderStop(stopped, "time-limit", 5_000);
  end(first, over, 3);
  end(first, forgotten);
  first.forget(forgotten, outputOf(7));
  first.note(aColour(active.key, "red"));
  await settle(); // kill -9 here: noted entries are written, nothing is closed

  // Once from the original entries, once from their summary.
  for (let life = 0; life < 2; life += 1) {
    const { ledger, remembered } = open();
    const killAtMs = clock.nowMs() + 5_000;
    expect([...remembered]).toEqual([
      ["1.0.1", { terms: active.terms, stop: undefined, ended: undefined }],
      [
        "2.0.1",
        { terms: stopped.terms, stop: { cause: "time-limit", killAtMs }, ended: undefined },
      ],
      ["3.0.1", { terms: over.terms, stop: undefined, ended: ended(3) }],
    ]);
    expect(Array.from(ledger.active, ({ key }) => key)).toEqual(["1.0.1", "2.0.1"]);
    expect(ledger.known()).toEqual([{ id: over.id, report: ended(3) }]);
    expect(ledger.queued().map(({ key }) => key)).toEqual(["1.0.1", "2.0.1"]);
    expect(ledger.kept.get("4.0.1")).toMatchObject({ bytes: 7, forgottenAtMs: clock.nowMs() });
    expect(colours.get("1.0.1")).toBe("red");
    ledger.close();
  }
  first.close();
});

test("outputs that are too many or too old are removed, also for the next process", async () => {
  const { ledger } = open(2);
  for (const key of ["1.0.1", "2.0.1", "3.0.1"]) {
    const run = aRun(key);
    ledger.accept(run);
    end(ledger, run);
    ledger.forget(run, outputOf(1));
  }
  expect(removed).toEqual(["1.0.1"]);
  await clock.pass(60_000);
  expect(ledger.removeSurplus(clock.nowMs())).toBeUndefined();
  expect(removed).toEqual(["1.0.1", "2.0.1", "3.0.1"]);
  ledger.close();
  const next = open(2).ledger;
  expect(["1.0.1", "2.0.1", "3.0.1"].some((key) => next.kept.has(key))).toBe(false);
  next.close();
});

test("the journal is rewritten when most of its entries are obsolete", async () => {
  const { ledger } = open(1);
  const stays = aRun("0.0.1");
  ledger.accept(stays);
  for (let jobId = 1; jobId <= limits.journalEntriesMin; jobId += 1) {
    const run = aRun(`${jobId}.0.1`);
    ledger.accept(run);
    end(ledger, run);
    ledger.forget(run, outputOf(1));
  }
  await settle();
  expect(journal().split("\n").length).toBeLessThan(limits.journalEntriesMin + 10);
  expect([...open(1).remembered.keys()]).toEqual([stays.key]);
  ledger.close();
});
