import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { eventually } from "../../testing/eventually.ts";
import type { Database } from "./database.ts";
import type { FromThread, PackedBatch, ToThread } from "./messages.ts";
import { StoreThread } from "./store-thread.ts";

const batch = (revision: number): PackedBatch => ({ revision, lastId: 0, parts: [] });

/** A thread over a database that runs `during` within each commit; `happened` has its order of events. */
function startThread(rowsPerCommit: number, during: (revision: number) => void = () => undefined) {
  const { port1: near, port2: far } = new MessageChannel();
  const happened: string[] = [];
  let revision = 0;
  let pending = 0;
  const apply = (): void => {
    if (pending > 0) happened.push(`apply ${pending}`);
    pending = 0;
  };
  const database = {
    file: "busbar.db",
    warning: undefined,
    revision: () => revision,
    lastId: () => 0,
    commit: (batches: readonly PackedBatch[]) => {
      revision = batches.at(-1)?.revision ?? revision;
      happened.push(`commit ${batches.map((one) => one.revision).join(" and ")}`);
      pending += rowsPerCommit;
      during(revision);
    },
    pendingRows: () => pending,
    apply,
    rest: apply,
    log: () => ({ bytes: 0, longestBytes: 0 }),
    close: apply,
  } satisfies Partial<Database> as unknown as Database;
  far.postMessage = (message: FromThread) => {
    if (message.kind === "committed") happened.push(`answer ${message.revision}`);
  };
  new StoreThread(far, database).start();
  const send = (message: ToThread): void => near.postMessage(message, []);
  const until = (what: string) =>
    eventually(() => (happened.includes(what) ? true : undefined), { what: () => what });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => near.once("close", resolve));
    send({ kind: "close" });
    await closed;
  };
  return { send, happened, until, close };
}

test("the answer to a commit does not wait for the next commit, which takes all batches that came meanwhile", async () => {
  const { send, happened, until, close } = startThread(1, (revision) => {
    if (revision > 1) return;
    send({ kind: "commit", batch: batch(2) });
    send({ kind: "commit", batch: batch(3) });
  });
  send({ kind: "commit", batch: batch(1) });
  await until("answer 3");
  await close();
  expect(happened).toEqual(["commit 1", "answer 1", "commit 2 and 3", "answer 3", "apply 2"]);
});

test("a closing store commits the batches that wait behind the last commit", async () => {
  const { send, happened, until, close } = startThread(1, (revision) => {
    if (revision === 1) send({ kind: "commit", batch: batch(2) });
  });
  send({ kind: "commit", batch: batch(1) });
  await close();
  await until("apply 2");
  expect(happened).toEqual(["commit 1", "answer 1", "commit 2", "answer 2", "apply 2"]);
});

test("rows are applied after the answer: many at once, in a pause, and a bounded number while batches wait", async () => {
  const last = 10;
  const half = limits.storeApplyRowsMax / 2;
  const { send, happened, until, close } = startThread(half, (revision) => {
    if (revision < last) send({ kind: "commit", batch: batch(revision + 1) });
  });
  send({ kind: "commit", batch: batch(1) });
  await until(`answer ${last}`);
  expect(happened.filter((what) => what.startsWith("apply"))).toEqual(
    Array.from({ length: last / 2 }, () => `apply ${2 * half}`),
  );
  expect(happened.slice(0, 5)).toEqual([
    "commit 1",
    "answer 1",
    "commit 2",
    "answer 2",
    `apply ${2 * half}`,
  ]);
  await close();
});

test("an idle thread applies the last rows", async () => {
  const { send, until, close } = startThread(1);
  send({ kind: "commit", batch: batch(1) });
  await until("apply 1");
  await close();
});
