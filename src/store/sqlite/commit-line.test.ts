import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { limits } from "../../limits.ts";
import { CommitLine } from "./commit-line.ts";
import { packBatch, type PackedBatch, type ToThread } from "./messages.ts";
import type { JournalAppender } from "./record/journal-appender.ts";
import type { JournalTail } from "./record/journal-tail.ts";

const PAGE = 4096;
const START: JournalTail = { pass: 1, end: 0, revision: 0, lastId: 0 };

const aBatch = (revision: number, rows = 1): PackedBatch =>
  packBatch({
    revision,
    writes: Array.from({ length: rows }, (_, index) => ({ key: `${index}`, value: "v" })),
  });

const revisionsOf = (batches: readonly PackedBatch[] = []): string =>
  batches.map(({ revision }) => revision).join("+");

/** A line over a journal with room for so many entries; `happened` has the order of events. */
function open(entries = 100) {
  const happened: string[] = [];
  let end: ((error?: Error) => void) | undefined;
  const journal = {
    tail: START,
    bytesFor: () => (journal.tail.end < entries * PAGE ? PAGE : undefined),
    append(batches: readonly PackedBatch[], bytes: number, done: (error?: Error) => void) {
      happened.push(`append ${revisionsOf(batches)}`);
      end = (error) => {
        end = undefined;
        if (error === undefined) {
          const revision = batches.at(-1)?.revision ?? 0;
          journal.tail = { ...journal.tail, end: journal.tail.end + bytes, revision };
        }
        done(error);
      };
    },
    close: () => happened.push("journal closed"),
  };
  const describe = (message: ToThread): string => {
    const { kind } = message;
    const journaled = "journaled" in message ? ` (${revisionsOf(message.journaled)})` : "";
    return kind === "commit"
      ? `${kind} ${revisionsOf(message.batches)}${journaled}`
      : `${kind}${journaled}`;
  };
  const line = new CommitLine(journal as unknown as JournalAppender, {
    send: (message) => happened.push(describe(message)),
    committed: (revision) => happened.push(`committed ${revision}`),
    failed: (error) => {
      happened.push(error.message);
      line.fail(() => happened.push("stopped"));
    },
  });
  const add = (...revisions: number[]): void => {
    for (const revision of revisions) line.add(aBatch(revision));
  };
  const appended = (error?: Error): void => end?.(error);
  const take = (): string[] => happened.splice(0);
  return { line, add, appended, take, isAppending: () => end !== undefined };
}

describe("a line of commits", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  test("appends one entry at a time, with all batches that came meanwhile", () => {
    const { add, appended, take } = open();
    add(1, 2, 3);
    expect(take()).toEqual(["append 1"]);
    appended();
    expect(take()).toEqual(["committed 1", "append 2+3"]);
    appended();
    expect(take()).toEqual(["committed 3"]);
  });

  test("sends rows to the thread when they are many", () => {
    const { line, appended, take } = open();
    line.add(aBatch(1, limits.storeApplyRows - 1));
    appended();
    line.add(aBatch(2));
    take();
    appended();
    expect(take()).toEqual(["committed 2", "apply (1+2)"]);
  });

  test("lets the thread commit when the journal is full, with rows that it lacks, and waits until it has the journal back", () => {
    const { line, add, appended, take } = open(1);
    add(1);
    appended();
    add(2, 3);
    expect(take().slice(2)).toEqual(["commit 2 (1)"]);
    line.returned(START);
    expect(take()).toEqual(["append 3"]);
  });

  test("lets the thread rest once after a pause", () => {
    const { line, add, appended, take } = open();
    add(1);
    vi.advanceTimersByTime(limits.storeIdleMs);
    appended(); // a slow disk is no pause
    take();
    vi.advanceTimersByTime(limits.storeIdleMs - 1);
    expect(take()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(take()).toEqual(["rest (1)"]);
    add(2);
    expect(take()).toEqual([]);
    line.returned(START);
    expect(take()).toEqual(["append 2"]);
    appended();
    take();
    vi.advanceTimersByTime(limits.storeIdleMs);
    expect(take()).toEqual(["rest (2)"]);
    line.returned(START);
    vi.advanceTimersByTime(10 * limits.storeIdleMs);
    expect(take()).toEqual([]);
  });

  test("begins a copy after the append under way, with its rows; the thread commits until it has ended", () => {
    const { line, add, appended, take } = open();
    add(1);
    line.copy("file");
    add(2);
    expect(take()).toEqual(["append 1"]);
    appended();
    expect(take()).toEqual(["committed 1", "apply (1)", "backup", "commit 2 ()"]);
    line.copied();
    line.returned(START);
    add(3);
    expect(take()).toEqual(["append 3"]);
  });

  test("closes after the batches that wait, and leaves no timer", () => {
    const { line, add, appended, take } = open();
    add(1, 2);
    line.close();
    appended();
    take();
    appended();
    expect(take()).toEqual(["committed 2", "close (1+2)", "journal closed"]);
    line.fail(() => undefined); // the thread has ended
    line.close();
    expect(take()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a failed append stops it; the thread ends without the journal", () => {
    const { line, add, appended, take } = open();
    add(1, 2);
    take();
    appended(new Error("no disk"));
    expect(take()).toEqual(["no disk", "stopped"]);
    vi.advanceTimersByTime(limits.storeIdleMs);
    line.close();
    expect(take()).toEqual(["close", "journal closed"]);
  });

  test("when the thread fails, the append under way may still succeed, and nothing follows it", () => {
    const { line, add, appended, take } = open();
    const stopped: string[] = [];
    add(1, 2);
    line.fail(() => stopped.push("stopped"));
    line.close();
    expect([take(), stopped]).toEqual([["append 1"], []]);
    appended();
    expect([take(), stopped]).toEqual([["committed 1", "close", "journal closed"], ["stopped"]]);
  });

  test("a thread that fails while it has the journal ends without it", () => {
    const { line, add, take } = open(0);
    add(1);
    take();
    line.fail(() => undefined);
    line.close();
    expect(take()).toEqual(["close", "journal closed"]);
  });
});
