import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import type { Database } from "./database.ts";
import type { FromThread, PackedBatch, ToThread } from "./messages.ts";
import { StoreThread } from "./store-thread.ts";

const batch = (revision: number): PackedBatch => ({ revision, lastId: 0, parts: [] });

/** A thread over a database whose records become durable when the test says so; `happened` has its order of events. */
function startThread() {
  const { port1: near, port2: far } = new MessageChannel();
  const happened: string[] = [];
  const records: PromiseWithResolvers<void>[] = [];
  let revision = 0;
  const database = {
    file: "busbar.db",
    warning: undefined,
    revision: () => revision,
    lastId: () => 0,
    commit: (batches: readonly PackedBatch[]) => {
      revision = batches.at(-1)?.revision ?? revision;
      happened.push(`commit ${batches.map((one) => one.revision).join(" and ")}`);
      const record = Promise.withResolvers<void>();
      records.push(record);
      return record.promise;
    },
    log: () => ({ bytes: 0, longestBytes: 0 }),
    close: () => undefined,
  } satisfies Partial<Database> as unknown as Database;
  far.postMessage = (message: FromThread) => {
    if (message.kind === "committed") happened.push(`answer ${message.revision}`);
  };
  new StoreThread(far, database).start();
  const send = (message: ToThread): void => near.postMessage(message, []);
  const until = (what: string) =>
    eventually(() => (happened.includes(what) ? true : undefined), { what: () => what });
  return { send, happened, records, until, near };
}

test("the answer to a commit does not wait for the next commit, which takes all batches that came meanwhile", async () => {
  const { send, happened, records, until, near } = startThread();
  const closed = new Promise((resolve) => near.once("close", resolve));
  send({ kind: "commit", batch: batch(1) });
  await until("commit 1");
  send({ kind: "commit", batch: batch(2) });
  send({ kind: "commit", batch: batch(3) });
  // The thread reads both now, or when the record is durable.
  await new Promise((resolve) => setImmediate(resolve));
  records[0]?.resolve();
  await until("commit 2 and 3");
  records[1]?.resolve();
  await until("answer 3");
  expect(happened).toEqual(["commit 1", "answer 1", "commit 2 and 3", "answer 3"]);
  send({ kind: "close" });
  await closed;
});

test("a closing store commits the batches that wait behind the last commit", async () => {
  const { send, happened, records, until, near } = startThread();
  const closed = new Promise((resolve) => near.once("close", resolve));
  send({ kind: "commit", batch: batch(1) });
  await until("commit 1");
  send({ kind: "commit", batch: batch(2) });
  send({ kind: "close" });
  await until("commit 2");
  for (const record of records) record.resolve();
  await closed;
  expect(happened).toEqual(["commit 1", "commit 2", "answer 1", "answer 2"]);
});
