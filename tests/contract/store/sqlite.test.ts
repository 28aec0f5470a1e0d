import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import type { Database } from "../../../src/store/sqlite/database.ts";
import type { FromThread, PackedRows, ToThread } from "../../../src/store/sqlite/messages.ts";
import { recordFile } from "../../../src/store/sqlite/record/record-file.ts";
import { StoreThread } from "../../../src/store/sqlite/store-thread.ts";
import { openThreadStore } from "../../../src/store/sqlite/thread-store.ts";
import { createSqliteData, openSqlite, withDirectory, withSqlite } from "./sqlite-support.ts";
import { describeStoreContract } from "./store-contract.ts";
import { del, loadAll, put } from "./store-data.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";

const TAIL = { pass: 1, end: 0, revision: 0, lastId: 0 };
const done = (): void => undefined;

/** Without rows, and without an effect of any call. */
const idleDatabase: Database = {
  file: "",
  warning: undefined,
  revision: () => 0,
  lastId: () => 0,
  pendingRows: () => 0,
  log: () => ({ bytes: 0, longestBytes: 0 }),
  readRows: function* () {},
  commit: done,
  apply: done,
  rest: done,
  settle: done,
  backup: () => Promise.resolve(),
  lend: () => TAIL,
  takeBack: done,
  journaled: done,
  isSettled: () => false,
  checkpoint: done,
  shrink: done,
  close: done,
};

describeStoreContract({ name: "sqlite", createData: createSqliteData, propertyRuns: 15 });

describe("sqlite store: its files", () => {
  test("the directory is accessible for this user only, and a closed store leaves the database and its record", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: [put("a", "1")] });
        const files = ["busbar.db", "busbar.db-wal", "busbar.pid", "busbar.record"];
        expect(readdirSync(data).toSorted()).toEqual(files);
      });
      expect(statSync(data).mode & 0o777).toBe(0o700);
      for (const file of ["busbar.db", "busbar.record"]) {
        expect(statSync(join(data, file)).mode & 0o777).toBe(0o600);
      }
      expect(readdirSync(data).toSorted()).toEqual(["busbar.db", "busbar.record"]);
    }));

  test("a file in place of the directory is refused, with the reason", () =>
    withDirectory(async (data) => {
      await writeFile(data, "in the way");
      for (const directory of [data, join(data, "deeper")]) {
        await expect(withSqlite(directory, loadAll)).rejects.toMatchObject({
          code: "invalid_argument",
          field: "--data",
          message: expect.stringContaining("move it, or choose another"),
        });
      }
    }));

  test("a directory in place of the file is refused, with the reason", () =>
    withDirectory(async (data) => {
      await mkdir(join(data, "busbar.db"), { recursive: true });
      await expect(withSqlite(data, loadAll)).rejects.toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining(join(data, "busbar.db")),
      });
    }));

  for (const name of ["busbar.db", "busbar.db-wal", "busbar.record", "busbar.pid"]) {
    test(`a pipe in place of ${name} is refused, and does not block`, () =>
      withDirectory(async (data) => {
        await mkdir(data);
        execFileSync("mkfifo", [join(data, name)]);
        await expect(withSqlite(data, loadAll)).rejects.toMatchObject({
          code: "invalid_argument",
          message: expect.stringContaining(join(data, name)),
        });
      }));
  }

  test("an impossible directory is refused", async () => {
    await expect(openSqlite("/proc/busbar")).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("cannot create the directory /proc/busbar"),
    });
  });

  test("the log does not grow without limit while batches keep coming", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        const rounds = 2;
        const perBatch = limits.storeWalBytesMax / 8;
        const value = "x".repeat(perBatch / 64);
        for (let revision = 1; revision <= rounds * 8; revision += 1) {
          const writes = Array.from({ length: 64 }, (_, index) => put(`${index}`, value));
          await store.commit({ revision, writes });
        }
        const log = statSync(join(data, "busbar.db-wal")).size;
        expect(log).toBeLessThan(limits.storeWalBytesMax + 3 * perBatch);
      });
    }));

  test("small batches write over the file of the log instead of lengthening it", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        const value = "x".repeat(limits.storeWalIdleBytes / 64);
        const total = 4 * 64;
        for (let revision = 1; revision <= total; revision += 1) {
          await store.commit({ revision, writes: [put(`${revision % 8}`, value)] });
        }
        const log = statSync(join(data, "busbar.db-wal")).size;
        expect(log).toBeLessThan(1.5 * limits.storeWalIdleBytes);
      });
    }));

  test("an idle store moves its log into the database, again and again", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        const value = "x".repeat(1024);
        const size = (): number => statSync(join(data, "busbar.db")).size;
        for (const revision of [1, 2, 3]) {
          const writes = Array.from({ length: limits.storeWalIdleBytes / 1024 }, (_, index) =>
            put(`${revision}/${index}`, value),
          );
          const enough = size() + limits.storeWalIdleBytes;
          await store.commit({ revision, writes });
          await expect.poll(size, { timeout: 10_000 }).toBeGreaterThan(enough);
        }
      });
    }));
});

describe("sqlite store: its thread", () => {
  let directory = "";
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "busbar-thread-"));
    writeFileSync(recordFile(directory), "");
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  const openOver = (script: string, data = directory) =>
    openThreadStore({
      name: "test",
      worker: new Worker(script, { eval: true }),
      logger: silentLogger,
      directory: data,
    });
  // Its journal is full: the thread commits everything.
  const opens = `const { parentPort } = require("node:worker_threads");
    const tail = { pass: 1, end: ${limits.storeJournalBytes}, revision: 1, lastId: 0 };
    parentPort.postMessage({ kind: "opened", revision: 1, lastId: 0, tail });`;

  test("a thread that ends before it opened its data fails the opening", async () => {
    await expect(openOver("process.exit(3)")).rejects.toMatchObject({ code: "unavailable" });
    await expect(openOver("throw new Error('boom')")).rejects.toMatchObject({
      code: "unavailable",
      cause: { message: "boom" },
    });
  });

  test("a journal that cannot be opened fails the opening, and ends the thread", async () => {
    const script = `${opens} parentPort.once("message", () => parentPort.close());`;
    await expect(openOver(script, join(directory, "missing"))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("busbar.record"),
    });
  });

  const crashes = [
    { how: "exits", script: "process.exit(3)" },
    { how: "throws", script: "throw new Error('boom')" },
  ];
  for (const { how, script } of crashes) {
    test(`a thread that ${how} rejects pending and later calls`, async () => {
      const store = await openOver(`${opens} parentPort.on("message", () => { ${script}; });`);
      const commits = [2, 3].map((revision) => store.commit({ revision, writes: [] }));
      for (const result of await Promise.allSettled(commits)) {
        expect(result).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
      }
      const later = store.commit({ revision: 4, writes: [] });
      await expect(later).rejects.toMatchObject({ code: "unavailable" });
      await store.close();
    });

    test(`a thread that ${how} while loading fails the load`, async () => {
      const store = await openOver(`${opens} parentPort.on("message", () => { ${script}; });`);
      await expect(loadAll(store)).rejects.toMatchObject({ code: "unavailable" });
      await store.close();
    });
  }

  test("nothing is written after a failure, including batches under way", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: [put("a", "1")] });
        // As large as a group may be, so that the next batch is not in the same one.
        const writes = Array.from({ length: limits.storeGroupRowsMax }, (_, index) =>
          put(`${index}`, "x"),
        );
        const commits = [
          store.commit({ revision: 2, writes: [...writes, del("0")] }),
          store.commit({ revision: 3, writes: [put("b", "3")] }),
        ];
        const results = await Promise.allSettled(commits);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
      });
      const rows = await withSqlite(data, loadAll);
      expect(rows).toEqual([{ key: "a", value: "1", revision: 1 }]);
    }));

  test("a reader that does not read stops the thread from reading on", async () => {
    const text = "x".repeat(limits.storeReadAheadChars / 4);
    let chunks = 0;
    let isClosed = false;
    function* readRows(): Generator<PackedRows> {
      while (chunks < 100) {
        chunks += 1;
        yield { keys: [], text, lengths: new Int32Array(), revisions: new Float64Array() };
      }
    }
    const { port1, port2 } = new MessageChannel();
    const close = (): void => void (isClosed = true);
    new StoreThread(port1, { ...idleDatabase, readRows, close }).start();
    port2.postMessage({ kind: "load" } satisfies ToThread, []);
    await expect.poll(() => chunks).toBe(4);
    port2.postMessage({ kind: "more", chars: text.length } satisfies ToThread, []);
    await expect.poll(() => chunks).toBe(5);
    port2.postMessage({ kind: "close" } satisfies ToThread, []);
    await expect.poll(() => isClosed).toBe(true);
    port2.close();
  });

  test("the thread has read and checked all rows before the reader takes the first, if they are few", async () => {
    const happened: string[] = [];
    function* readRows(): Generator<PackedRows> {
      const text = "x".repeat(limits.storeReadAheadChars / 10);
      for (let chunk = 0; chunk < 9; chunk++)
        yield { keys: ["k"], text, lengths: new Int32Array(1), revisions: new Float64Array(1) };
      happened.push("checked");
    }
    const { port1, port2 } = new MessageChannel();
    const thread = new StoreThread(port1, { ...idleDatabase, readRows });
    port2.on("message", ({ kind }: FromThread) => happened.push(kind));
    thread.start();
    port2.postMessage({ kind: "load" } satisfies ToThread, []); // and never "more"
    await expect.poll(() => happened.at(-1)).toBe("loaded");
    expect(happened).toContain("checked");
    expect(happened.filter((what) => what === "rows")).toHaveLength(9);
    port2.postMessage({ kind: "close" } satisfies ToThread, []);
    port2.close();
  });

  test("returns memory once after a while without messages", async () => {
    let shrinks = 0;
    const { port1, port2 } = new MessageChannel();
    new StoreThread(port1, { ...idleDatabase, shrink: () => void shrinks++ }).start();
    await expect.poll(() => shrinks, { timeout: 5 * limits.storeRestMs }).toBe(1);
    port2.postMessage({ kind: "close" } satisfies ToThread, []);
    port2.close();
  });
});
