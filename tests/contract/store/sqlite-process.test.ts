import { describe, expect, test } from "vitest";
import type { Store, StoredRow } from "../../../src/ports/store.ts";
import { readRecord } from "../../../src/store/sqlite/record/record-file.ts";
import {
  openSqlite,
  ROWS_PER_BATCH,
  StoreChild,
  withDirectory,
  withSqlite,
} from "./sqlite-support.ts";
import { loadAll } from "./store-data.ts";

const KILL_ROUNDS = 5;

describe("sqlite store: several processes", () => {
  test("a second process is refused, with the name of the first, and may open when the first was killed", () =>
    withDirectory(async (data) => {
      const holder = new StoreChild("hold", data);
      try {
        await holder.printed(1);
        await expect(openSqlite(data)).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining(`another process (pid ${holder.pid}) holds the data`),
        });
      } finally {
        await holder.kill();
      }
      await withSqlite(data, loadAll); // the pid file is still there, and does not stop the next process
    }));

  test("a second store in the same process is refused, and does not drop the first one's lock", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async () => {
        await expect(openSqlite(data)).rejects.toThrow(`this process (pid ${process.pid})`);
        const other = new StoreChild("finish", data);
        expect(await other.ended()).not.toBe(0);
        expect(other.lines).toEqual([]);
      });
    }));

  test("a process ends by itself once its store is closed", () =>
    withDirectory(async (data) => {
      const child = new StoreChild("finish", data);
      expect(await child.ended()).toBe(0);
      expect(child.lines).toEqual(["1"]);
    }));

  test("kill -9 at any moment loses nothing acknowledged, and leaves no partial batch", () =>
    withDirectory(async (data) => {
      let journaled = 0;
      for (let round = 1; round <= KILL_ROUNDS; round += 1) {
        const child = new StoreChild("commit", data);
        await child.printed(37 * round);
        await child.kill();
        const acknowledged = Number(child.lines.at(-1));
        const record = readRecord(data);
        if (record.kind === "read") journaled += record.entries.length;
        await withSqlite(data, async (store) => {
          expect(store.revision()).toBeGreaterThanOrEqual(acknowledged);
          expect(await loadAll(store)).toEqual(wholeBatches(store));
        });
      }
      expect(journaled).toBeGreaterThan(0); // the child's commits are small
    }));
});

/** The child's rows after its last revision: two whole batches, and the shared row. */
function wholeBatches(store: Store): StoredRow[] {
  const last = store.revision();
  const rows: StoredRow[] = [{ key: "last", value: `${last}`, revision: last }];
  for (const revision of [last - 1, last]) {
    for (let index = 0; index < ROWS_PER_BATCH; index += 1) {
      rows.push({ key: `${revision}/${index}`, value: `${revision}`.repeat(50), revision });
    }
  }
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1));
}
