import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { limits } from "../../limits.ts";
import type { RunId, RunRequest } from "../../ports/executor.ts";
import { FakeExecutor } from "../testing/fake-executor.ts";
import { NeedsJournal } from "./needs-journal.ts";
import { createProcessSource } from "./process-source.ts";
import { TakenRuns } from "./taken-runs.ts";

const id = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
const request = (jobId: number, more: Partial<RunRequest> = {}): RunRequest => ({
  id: id(jobId),
  name: "job",
  arrayIndex: undefined,
  work: { kind: "command", argv: ["true"] },
  request: undefined,
  needs: { cpu: 1_000 },
  env: {},
  cwd: undefined,
  timeLimitMs: undefined,
  killGraceMs: 0,
  outputLimitBytes: 0,
  ...more,
});

let directory: string;
let executor: FakeExecutor;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-taken-"));
  executor = new FakeExecutor();
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (onChange = (): void => undefined): TakenRuns => {
  const taken = new TakenRuns(executor, new NeedsJournal(directory), onChange);
  taken.onReport(() => undefined);
  return taken;
};
const sourceOf = (taken: TakenRuns) =>
  createProcessSource({
    cluster: "blue",
    machine: "m",
    facts: () => {
      throw new Error("not asked");
    },
    capacity: { cpu: 4_000, memory: 100 },
    taken,
  });

describe("taken runs", () => {
  test("a start lowers the free capacity and an end raises it, without another observation", async () => {
    let changes = 0;
    const taken = open(() => (changes += 1));
    const observe = async (): Promise<void> => {
      const done = taken.observing();
      done(await sourceOf(taken).observe());
    };
    expect(taken.room({ kind: "now" }).tasks).toBe(0);
    await observe();
    expect(taken.room({ kind: "now" }).tasks).toBe(4);
    taken.start(request(1, { needs: { cpu: 3_000 } }));
    expect(taken.room({ kind: "now" })).toEqual({
      tasks: 1,
      free: { cpu: 1_000, memory: 100, nodes: 0 },
    });
    await observe();
    expect(taken.room({ kind: "now" }).tasks).toBe(1);
    executor.end(id(1));
    expect(taken.room({ kind: "now" }).tasks).toBe(4);
    await observe();
    expect(taken.room({ kind: "now" }).tasks).toBe(4);
    expect(changes).toBe(3); // the executor reports running inside of start
    taken.notObserved();
    expect(taken.room({ kind: "now" }).tasks).toBe(0);
  });

  test("a repeated start counts as one run", () => {
    const taken = open();
    taken.start(request(1));
    taken.start(request(1));
    expect([taken.used.runs, executor.started.length]).toEqual([1, 1]);
  });

  test("this machine reports its state, and has no free capacity beside a run with an exclusive node", async () => {
    const taken = open();
    const source = sourceOf(taken);
    taken.start(request(1, { needs: { cpu: 1_500 } }));
    expect(await source.observe()).toEqual({
      state: {
        nodes_total: 1,
        nodes_free: 0,
        cores_total: 4,
        cores_free: 2,
        running: 1,
        queue_length: 0,
      },
      free: { cpu: 2_500, memory: 100, nodes: 0 },
    });
    const node = {
      type: "node",
      count: 1,
      unit: undefined,
      isSlot: false,
      isExclusive: true,
      label: undefined,
      requires: [],
      with: [],
    };
    taken.start(request(2, { request: [[node]] }));
    expect((await source.observe()).free).toEqual({ cpu: 0, memory: 0, nodes: 0 });
  });

  test("after a restart the agent knows active runs with their requests", async () => {
    const before = open();
    before.start(request(1, { needs: { cpu: 3_000 } }));
    before.start(request(2));
    executor.end(id(2));
    before.forget(id(2));
    appendFileSync(join(directory, "needs.jsonl"), '{"key":"9.0.1","ne'); // killed during a write
    const after = open();
    expect(after.used).toEqual({ runs: 1, amounts: { cpu: 3_000 } });
    expect(readFileSync(join(directory, "needs.jsonl"), "utf8")).toBe(
      '{"key":"1.0.1","needs":{"cpu":3000}}\n',
    );
  });

  test("the journal does not grow for ever", () => {
    const journal = new NeedsJournal(directory);
    for (let at = 0; at < limits.journalEntriesMin; at++) {
      journal.add("1.0.1", { cpu: at });
      journal.remove("1.0.1");
    }
    journal.add("2.0.1", {});
    const lines = readFileSync(join(directory, "needs.jsonl"), "utf8").split("\n");
    expect(lines.length).toBeLessThanOrEqual(limits.journalEntriesMin + 2);
    expect(new NeedsJournal(directory).get("2.0.1")).toEqual({});
  });
});
