import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { recoverData } from "../../../src/store/sqlite/recovery/recover.ts";
import { checkBackup, restoreBackup } from "../../../src/store/sqlite/recovery/restore.ts";
import type { Batch } from "../../../src/ports/store.ts";
import { commit, leaveBehind, tooLong, withDirectory, withSqlite } from "./sqlite-support.ts";
import { loadAll, put } from "./store-data.ts";

const LAST = 20;
const group = (name: string): string => JSON.stringify({ id: name, weight: 1 });

/** As kill -9 leaves it; the rows are groups, which need no others. The journal has none of these commits. */
async function fill(data: string): Promise<void> {
  await leaveBehind(data, (store) => {
    for (let revision = 1; revision <= LAST; revision += 1) commit(store, aBatch(revision));
  });
}

function aBatch(revision: number, pad = tooLong("")): Batch {
  const name = `g${String(revision).padStart(2, "0")}`;
  const value = JSON.stringify({ id: name, weight: 1, pad });
  const counter = put("counter/jobs", JSON.stringify({ lastJobId: 10 * revision }));
  return { revision, writes: [put(`group/${name}`, value), counter], lastId: 10 * revision };
}

const log = (data: string): string => join(data, "busbar.db-wal");
const database = (data: string): string => join(data, "busbar.db");

function snapshot(data: string): Record<string, Buffer> {
  const files = readdirSync(data).filter((name) => !name.endsWith("-shm"));
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(data, name))]));
}

describe("recover", () => {
  test("shows the loss and changes nothing; once accepted, it continues beyond all lost revisions", () =>
    withDirectory(async (data) => {
      await fill(data);
      truncateSync(log(data), Math.floor(statSync(log(data)).size / 2));
      const before = snapshot(data);
      const found = recoverData({ directory: data, acceptsLoss: false });
      expect(snapshot(data)).toEqual(before);
      const from = found.revision + 1;
      expect(found.revision).toBeGreaterThan(0);
      expect(found).toMatchObject({
        wrong: expect.stringContaining("was acknowledged"),
        lostRevisions: { from, to: LAST },
        lostJobs: { from: 10 * found.revision + 1, to: 10 * LAST },
        goesOnAfter: { revision: LAST + 1, lastId: 10 * LAST },
        keptIn: undefined,
      });
      const accepted = recoverData({ directory: data, acceptsLoss: true });
      expect(snapshot(accepted.keptIn ?? "")["busbar.db-wal"]).toEqual(before["busbar.db-wal"]);
      await withSqlite(data, async (store) => {
        expect(store.revision()).toBe(LAST + 1);
        expect(store.lastId()).toBe(10 * LAST);
        expect(await loadAll(store)).toHaveLength(found.revision + 1);
        await store.commit({ revision: LAST + 2, writes: [put("group/new", group("new"))] });
      });
      expect(recoverData({ directory: data, acceptsLoss: true })).toMatchObject({
        wrong: undefined,
        keptIn: undefined,
      });
    }));

  test("a database whose log was moved into it is complete without the log", () =>
    withDirectory(async (data) => {
      await fill(data);
      const copy = `${data}-log`;
      await cp(log(data), copy);
      await withSqlite(data, loadAll); // moves the log into the database
      await cp(copy, log(data));
      const bytes = readFileSync(log(data));
      bytes.writeUInt8(bytes.readUInt8(20_000) ^ 1, 20_000);
      writeFileSync(log(data), bytes);
      await expect(withSqlite(data, loadAll)).rejects.toThrow("damaged");
      const accepted = recoverData({ directory: data, acceptsLoss: true });
      expect(accepted).toMatchObject({ source: "database alone", lostRevisions: undefined });
      expect(await withSqlite(data, loadAll)).toHaveLength(LAST + 1);
    }));

  test("damaged rows are named, and left out; tasks are removed with their job", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        const writes = [
          put("group/a", group("a")),
          put("group/b", group("b")),
          put("task/0000000007/000000000", "of a job that is not there"),
        ];
        await store.commit({ revision: 1, writes, lastId: 7 });
      });
      const bytes = readFileSync(database(data));
      const at = bytes.indexOf(group("b"));
      bytes.writeUInt8(bytes.readUInt8(at + 8) ^ 1, at + 8);
      writeFileSync(database(data), bytes);
      await expect(withSqlite(data, loadAll)).rejects.toThrow('row "group/b" is not what was');
      expect(recoverData({ directory: data, acceptsLoss: true })).toMatchObject({
        damagedRows: 1,
        orphanTasks: 1,
        problems: expect.arrayContaining(['row "group/b" is not what was written']),
      });
      const rows = await withSqlite(data, loadAll);
      expect(rows.map(({ key }) => key)).toEqual(["group/a"]);
    }));

  test("without a record it continues far beyond the last revision found", () =>
    withDirectory(async (data) => {
      await fill(data);
      rmSync(join(data, "busbar.record"));
      expect(recoverData({ directory: data, acceptsLoss: true }).goesOnAfter).toEqual({
        revision: LAST + limits.unknownRevisionsMax,
        lastId: 10 * LAST + limits.unknownJobsMax,
      });
      expect(await withSqlite(data, loadAll)).toHaveLength(LAST + 1);
    }));

  test("data that a server holds is not touched", () =>
    withDirectory((data) =>
      withSqlite(data, () => {
        const look = (): unknown => recoverData({ directory: data, acceptsLoss: true });
        expect(look).toThrow(/holds the data/);
        return Promise.resolve();
      }),
    ));
});

describe("restore", () => {
  test("makes a directory from a backup, and continues beyond the ids that the old one issued", () =>
    withDirectory(async (data) => {
      await fill(data);
      await withSqlite(data, loadAll);
      const backup = `${data}-backup`;
      await cp(database(data), backup);
      expect(checkBackup(backup)).toMatchObject({ revision: LAST, rows: LAST + 1 });
      await withSqlite(data, (store) => store.commit({ revision: 50, writes: [], lastId: 900 }));
      const directory = `${data}-restored`;
      const exact = restoreBackup({ file: backup, directory, replaces: data });
      expect(exact).toMatchObject({ isExact: true, goesOnAfter: { revision: 51, lastId: 900 } });
      await withSqlite(directory, async (store) => {
        expect(store.lastId()).toBe(900);
        expect(await loadAll(store)).toHaveLength(LAST + 1);
      });
      const again = (): unknown => restoreBackup({ file: backup, directory, replaces: undefined });
      expect(again).toThrow("is not empty");
    }));

  test("a directory that cannot be made is rejected by its flag, and the backup is not blamed", () =>
    withDirectory(async (data) => {
      await fill(data);
      const file = `${data}-backup`;
      await withSqlite(data, loadAll);
      await cp(database(data), file);
      for (const directory of ["/proc/busbar", "/dev/null", join(file, "deeper")]) {
        expect(() => restoreBackup({ file, directory, replaces: undefined })).toThrow(
          new RegExp(`^--data: (?:cannot create the directory|something else is at) ${directory}`),
        );
      }
    }));

  test("a damaged backup is rejected, and leaves no database behind", () =>
    withDirectory(async (data) => {
      await fill(data);
      await withSqlite(data, loadAll);
      const file = `${data}-backup`;
      await cp(database(data), file);
      const db = new DatabaseSync(file);
      db.exec("DELETE FROM rows WHERE key = 'group/g03'; PRAGMA journal_mode = DELETE");
      db.close();
      const directory = `${data}-restored`;
      expect(() => checkBackup(file)).toThrow("damaged");
      expect(() => restoreBackup({ file, directory, replaces: undefined })).toThrow("damaged");
      expect(existsSync(database(directory))).toBe(false);
    }));
});
