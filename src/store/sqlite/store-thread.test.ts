import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { eventually } from "../../testing/eventually.ts";
import type { Database } from "./database.ts";
import type { FromThread, PackedBatch, ToThread } from "./messages.ts";
import { StoreThread } from "./store-thread.ts";

const TAIL = { pass: 1, end: 0, revision: 0, lastId: 0 };

/** A batch with so many rows. */
const batch = (revision: number, rows = 1): PackedBatch => ({
  revision,
  lastId: 0,
  parts: [{ text: "", lengths: new Int32Array(2 * rows), revisions: new Float64Array(rows) }],
});

/** A thread over a database whose log has so many bytes; `happened` has its order of events. */
function startThread(logBytes = 0) {
  const { port1: near, port2: far } = new MessageChannel();
  const happened: string[] = [];
  let pending = 0;
  let isSettled = false;
  let isLent = false;
  const note = (what: string): void => void happened.push(what);
  const here = (what: string): void => {
    if (isLent) note(`${what} without the journal`);
  };
  const database = {
    file: "busbar.db",
    warning: undefined,
    revision: () => 7,
    lastId: () => 0,
    lend: () => {
      isLent = true;
      return TAIL;
    },
    takeBack: () => {
      isLent = false;
      note("take back");
    },
    journaled: (batches: readonly PackedBatch[]) => {
      for (const { parts } of batches) pending += parts[0]?.revisions.length ?? 0;
      if (batches.length > 0) isSettled = false;
    },
    commit: (batches: readonly PackedBatch[]) => {
      here("commit");
      note(`commit ${batches.map((one) => one.revision).join(" and ")}`);
      isSettled = true;
      pending = 0;
    },
    pendingRows: () => pending,
    apply: () => {
      note(`apply ${pending}`);
      pending = 0;
    },
    rest: () => {
      here("rest");
      note("rest");
    },
    settle: () => {
      here("settle");
      note("settle");
      isSettled = true;
    },
    isSettled: () => isSettled,
    log: () => ({ bytes: logBytes, longestBytes: logBytes }),
    checkpoint: () => note(isSettled ? "checkpoint" : "checkpoint of an unsettled database"),
    close: () => note(isLent ? "close without the journal" : "close"),
  } satisfies Partial<Database> as unknown as Database;
  far.postMessage = (message: FromThread) => note(message.kind);
  new StoreThread(far, database).start();
  const send = (...messages: ToThread[]): void => {
    for (const message of messages) near.postMessage(message, []);
  };
  const until = (what: string) =>
    eventually(() => (happened.includes(what) ? true : undefined), { what: () => what });
  const close = async (lent?: { journaled: readonly PackedBatch[] }): Promise<void> => {
    const closed = new Promise((resolve) => near.once("close", resolve));
    send({ kind: "close", ...(lent === undefined ? {} : { ...lent, tail: TAIL }) });
    await closed;
  };
  return { send, happened, until, close };
}

test("rows of all waiting messages are applied together", async () => {
  const { send, happened, until, close } = startThread();
  const apply = (revision: number): ToThread => ({ kind: "apply", journaled: [batch(revision)] });
  send(apply(1), apply(2), apply(3));
  await until("apply 3");
  await close();
  expect(happened).toEqual(["opened", "apply 3", "close without the journal"]);
});

test("many rows are applied before all messages are read", async () => {
  const half = limits.storeApplyRowsMax / 2;
  const { send, happened, until, close } = startThread();
  const apply: ToThread = { kind: "apply", journaled: [batch(1, half)] };
  send(apply, apply, apply);
  await until(`apply ${half}`);
  expect(happened).toEqual(["opened", `apply ${2 * half}`, `apply ${half}`]);
  await close();
});

test("a commit has the journal, returns it with the answer, and a long log is moved after that", async () => {
  const { send, happened, until, close } = startThread(limits.storeWalBytesMax);
  const journaled = [batch(1)];
  send({ kind: "commit", batches: [batch(2), batch(3)], journaled, tail: TAIL });
  await until("checkpoint");
  expect(happened).toEqual(["opened", "take back", "commit 2 and 3", "committed", "checkpoint"]);
  await close();
});

test("a rest confirms, settles a long log, returns the journal, and then moves the log", async () => {
  const { send, happened, until, close } = startThread(limits.storeWalIdleBytes);
  send({ kind: "rest", journaled: [], tail: TAIL });
  await until("checkpoint");
  expect(happened).toEqual(["opened", "take back", "rest", "settle", "rested", "checkpoint"]);
  await close();
});

test("a rest with a short log only confirms", async () => {
  const { send, happened, until, close } = startThread();
  send({ kind: "rest", journaled: [], tail: TAIL });
  await until("rested");
  await close({ journaled: [] });
  expect(happened).toEqual(["opened", "take back", "rest", "rested", "take back", "close"]);
});
