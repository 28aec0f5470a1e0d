import { readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import type { Batch, StoredRow } from "../../../src/ports/store.ts";
import type { Database } from "../../../src/store/sqlite/database.ts";
import { unpackRows } from "../../../src/store/sqlite/messages.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { ENTRY_PAGE_BYTES } from "../../../src/store/sqlite/record/journal-entry.ts";
import {
  bootId,
  JOURNAL_AT,
  readRecord,
  recordFile,
} from "../../../src/store/sqlite/record/record-file.ts";
import { SLOT_BYTES } from "../../../src/store/sqlite/record/record-slot.ts";
import { recoverData } from "../../../src/store/sqlite/recovery/recover.ts";
import { checkBackup, restoreBackup } from "../../../src/store/sqlite/recovery/restore.ts";
import {
  appendAll,
  commit,
  leaveBehind,
  tooLong,
  withDirectory,
  withSqlite,
} from "./sqlite-support.ts";
import { del, put } from "./store-data.ts";

const group = (name: string): string => JSON.stringify({ id: name, weight: 1 });
const nameOf = (revision: number): string => `g${String(revision).padStart(4, "0")}`;

/** One small commit for each revision; a few rows are deleted again. */
function commitSmall(database: Database, from: number, to: number): void {
  for (let revision = from; revision <= to; revision += 1) commit(database, aCommit(revision));
}

function aCommit(revision: number): Batch {
  const name = nameOf(revision);
  const writes = [put(`group/${name}`, group(name)), del(`group/${nameOf(revision - 50)}`)];
  return { revision, writes, lastId: revision };
}

function rowsAfter(revision: number): StoredRow[] {
  const first = Math.max(1, revision - 49);
  return Array.from({ length: revision - first + 1 }, (_, index) => {
    const name = nameOf(first + index);
    return { key: `group/${name}`, value: group(name), revision: first + index };
  });
}

function read(data: string) {
  const database = openDatabase(data);
  try {
    const rows = [...database.readRows()].flatMap(unpackRows);
    const { warning } = database;
    return { rows, warning, revision: database.revision(), lastId: database.lastId() };
  } finally {
    database.close();
  }
}

const log = (data: string): string => join(data, "busbar.db-wal");

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(file, bytes);
}

const flipEntry = (data: string, index: number): void =>
  flip(recordFile(data), JOURNAL_AT + index * ENTRY_PAGE_BYTES + 60);

describe("sqlite store: its journal", () => {
  test("a killed process leaves small commits there, and the next start has them", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => {
        commitSmall(database, 1, 20);
        expect(database.pendingRows()).toBe(40);
        expect(database.revision()).toBe(20);
      });
      const found = read(data);
      expect(found).toEqual({ rows: rowsAfter(20), warning: undefined, revision: 20, lastId: 20 });
      expect(read(data).rows).toEqual(rowsAfter(20));
    }));

  test("a full journal is emptied into the database, and begins from the front", () =>
    withDirectory(async (data) => {
      const fits = limits.storeJournalBytes / ENTRY_PAGE_BYTES;
      const last = 2 * fits + 7;
      await leaveBehind(data, (database) => commitSmall(database, 1, last));
      const record = readRecord(data);
      if (record.kind !== "read") throw new Error(record.kind);
      expect(statSync(recordFile(data)).size).toBe(JOURNAL_AT + limits.storeJournalBytes);
      expect(record.entries.length).toBe(last - (record.state.pass?.from ?? 0));
      expect(record.entries.length).toBeLessThan(fits);
      expect(read(data)).toMatchObject({ rows: rowsAfter(last), revision: last, lastId: last });
    }));

  test("large commits between small ones keep the order", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => {
        commit(database, { revision: 1, writes: [put("a", "1"), put("b", "1")] });
        commit(database, { revision: 2, writes: [put("a", tooLong("2")), del("b")], lastId: 9 });
        commit(database, { revision: 3, writes: [put("b", "3")] });
      });
      const found = read(data);
      expect(found).toMatchObject({ revision: 3, lastId: 9 });
      expect(found.rows).toEqual([
        { key: "a", value: tooLong("2"), revision: 2 },
        { key: "b", value: "3", revision: 3 },
      ]);
    }));

  test("a batch that names a key twice is rejected before it is durable, however small", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: [put("a", "1")] });
        const twice = store.commit({ revision: 2, writes: [put("b", "1"), put("b", "2")] });
        await expect(twice).rejects.toMatchObject({ code: "unavailable" });
      });
      expect(read(data).rows).toEqual([{ key: "a", value: "1", revision: 1 }]);
    }));

  test("a backup has every small commit that was acknowledged before it ended", () =>
    withDirectory(async (data) => {
      const database = openDatabase(data);
      commitSmall(database, 1, 5);
      writeFileSync(`${data}-copy`, "");
      const copied = database.backup(`${data}-copy`);
      expect(database.pendingRows()).toBe(0);
      commitSmall(database, 6, 6);
      expect(database.pendingRows()).toBe(0);
      await copied;
      expect(checkBackup(`${data}-copy`).revision).toBeGreaterThanOrEqual(5);
      commitSmall(database, 7, 7);
      expect(database.pendingRows()).toBe(2);
      database.close();
    }));
});

describe("sqlite store: a damaged log", () => {
  const damages = [
    { what: "a flipped bit", damage: (file: string) => flip(file, statSync(file).size >> 1) },
    { what: "half of it", damage: (file: string) => truncateSync(file, statSync(file).size >> 1) },
    { what: "its end", damage: (file: string) => truncateSync(file, statSync(file).size - 100) },
    { what: "all of it", damage: (file: string) => rmSync(file) },
  ];
  for (const { what, damage } of damages) {
    test(`${what} is healed from the journal, with a warning`, () =>
      withDirectory(async (data) => {
        await leaveBehind(data, (database) => {
          for (const first of [1, 11, 21]) {
            commitSmall(database, first, first + 9);
            database.apply();
          }
          commitSmall(database, 31, 31);
        });
        damage(log(data));
        const { rows, revision, warning } = read(data);
        expect({ rows, revision }).toEqual({ rows: rowsAfter(31), revision: 31 });
        expect(warning).toMatch(/busbar\.db-wal\) was damaged and lacked revisions \d+ to 30;/);
        expect(read(data).warning).toBeUndefined();
      }));
  }

  test("is refused when its commits are in the database already: the rest of it hides newer pages", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => {
        for (const first of [1, 11, 21]) {
          commitSmall(database, first, first + 9);
          database.apply();
        }
        database.checkpoint();
      });
      flip(log(data), statSync(log(data)).size >> 1);
      expect(() => read(data)).toThrow(
        /lack revisions \d+ to 30, the last of which was acknowledged/,
      );
      expect(recoverData({ directory: data, acceptsLoss: true })).toMatchObject({
        source: "database alone",
        lostRevisions: undefined,
      });
      expect(read(data).rows).toEqual(rowsAfter(30));
    }));

  test("is refused when the journal does not cover what it lost", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => {
        commit(database, { revision: 1, writes: [put("a", tooLong("1"))] });
        commitSmall(database, 2, 3);
      });
      rmSync(log(data));
      expect(() => read(data)).toThrow(/lack revisions 1 to 3, the last of which was acknowledged/);
    }));
});

describe("sqlite store: a damaged journal", () => {
  test("matters only for commits that the database lacks", () =>
    withDirectory(async (data) => {
      const work = (database: Database): void => {
        commitSmall(database, 1, 4);
        database.apply();
        commitSmall(database, 5, 8);
      };
      await leaveBehind(data, work);
      flipEntry(data, 2);
      expect(() => read(data)).toThrow("lack revisions 5 to 8");
      flipEntry(data, 2);
      flipEntry(data, 7);
      expect(() => read(data)).toThrow("lack revision 8, the last of which was written");
      flipEntry(data, 7);
      expect(read(data).rows).toEqual(rowsAfter(8));

      await leaveBehind(`${data}-2`, (database) => {
        work(database);
        database.rest();
      });
      flipEntry(`${data}-2`, 2);
      expect(read(`${data}-2`).rows).toEqual(rowsAfter(8));
    }));

  test("one that the main thread appended: entries behind it show that it existed, and no slot names them", () =>
    withDirectory(async (data) => {
      const batches = Array.from({ length: 4 }, (_, index) => aCommit(index + 1));
      const append = (database: Database, directory: string) =>
        appendAll(directory, database, batches);
      await leaveBehind(data, append);
      const record = readRecord(data);
      if (record.kind !== "read") throw new Error(record.kind);
      expect(record.state.intended).toBe(0);
      expect(record.entries.length).toBe(4);
      flipEntry(data, 1);
      expect(() => read(data)).toThrow(
        "lack revisions 2 to 4, the last of which was acknowledged at",
      );
      const { lostRevisions, goesOnAfter } = recoverData({ directory: data, acceptsLoss: false });
      expect({ lostRevisions, goesOnAfter }).toEqual({
        lostRevisions: { from: 2, to: 4 },
        goesOnAfter: { revision: 5, lastId: 4 },
      });
      flipEntry(data, 1);
      expect(read(data)).toMatchObject({ rows: rowsAfter(4), revision: 4, lastId: 4 });
    }));

  test("a log is healed, with a warning, while the main thread appends", () =>
    withDirectory(async (data) => {
      const batches = Array.from({ length: 4 }, (_, index) => aCommit(index + 1));
      await leaveBehind(data, async (database, directory) => {
        await appendAll(directory, database, batches);
        database.apply();
      });
      rmSync(log(data));
      const { rows, revision, warning } = read(data);
      expect({ rows, revision }).toEqual({ rows: rowsAfter(4), revision: 4 });
      expect(warning).toContain("was damaged and lacked revisions 1 to 4;");
    }));

  test("recover continues with its intact entries, and names the lost revisions", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => {
        commitSmall(database, 1, 4);
        database.apply();
        commitSmall(database, 5, 8);
      });
      flipEntry(data, 6);
      const accepted = recoverData({ directory: data, acceptsLoss: true });
      expect(accepted).toMatchObject({
        revision: 6,
        rows: 6,
        lostRevisions: { from: 7, to: 8 },
        goesOnAfter: { revision: 9, lastId: 8 },
      });
      expect(read(data)).toMatchObject({ rows: rowsAfter(6), revision: 9, lastId: 8 });
    }));

  test("restore rejects the database of a killed server, whose journal has more", () =>
    withDirectory(async (data) => {
      await leaveBehind(data, (database) => commitSmall(database, 1, 4));
      truncateSync(log(data), 0);
      const file = join(data, "busbar.db");
      const restore = () => restoreBackup({ file, directory: `${data}-new`, replaces: undefined });
      expect(restore).toThrow("lacks commits that are in the journal");
      read(data);
      expect(restore()).toMatchObject({ revision: 4, rows: 4 });
    }));
});

describe("sqlite store: a record of the version without a journal", () => {
  /** Eight slots, the first of which has this state; as that version wrote it. */
  function writeOldRecord(data: string, change: { intended?: number; boot?: string }): void {
    const now = readRecord(data);
    if (now.kind !== "read") throw new Error(now.kind);
    const { identity, durable, marks, lastId, atMs, schema } = now.state;
    const mark = marks.at(-1);
    const stored = [durable, mark?.rows, mark?.digest];
    const intended = change.intended === undefined ? stored : [change.intended, 1, 1];
    const boot = change.boot ?? bootId();
    const fields = ["busbar-record-1", identity, 5, stored, intended, lastId, atMs, boot, schema];
    const line = JSON.stringify([...fields, null]);
    const bytes = Buffer.alloc(JOURNAL_AT);
    bytes.write(`${crc32(line).toString(16).padStart(8, "0")} ${line}\n`, 0, SLOT_BYTES, "latin1");
    writeFileSync(recordFile(data), bytes);
  }

  const fill = (data: string): void => {
    const database = openDatabase(data);
    commitSmall(database, 1, 4);
    database.close();
  };

  test("opens, and gets a journal; the old version refuses the new file for its length", () =>
    withDirectory((data) => {
      fill(data);
      writeOldRecord(data, {});
      expect(read(data)).toMatchObject({ rows: rowsAfter(4), warning: undefined, lastId: 4 });
      expect(statSync(recordFile(data)).size).toBeGreaterThan(JOURNAL_AT);
      expect(readRecord(data)).toMatchObject({ kind: "read", isComplete: true, badSlots: 0 });
      return Promise.resolve();
    }));

  test("is compared by its own rules", () =>
    withDirectory((data) => {
      fill(data);
      writeOldRecord(data, { intended: 6 }); // killed during a commit: no client had an answer
      expect(read(data)).toMatchObject({ revision: 4, warning: undefined });
      writeOldRecord(data, { intended: 6, boot: "another" });
      const cut = read(data);
      expect(cut).toMatchObject({ rows: rowsAfter(4), revision: 6 });
      expect(cut.warning).toContain("the machine stopped while revisions 5 to 6 were written");
      const old = readFileSync(join(data, "busbar.db"));
      const database = openDatabase(data);
      commitSmall(database, 7, 7);
      database.close();
      writeOldRecord(data, {});
      writeFileSync(join(data, "busbar.db"), old);
      expect(() => read(data)).toThrow("lack revision 7, the last of which was acknowledged");
      return Promise.resolve();
    }));
});
