import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import { createMemoryStore } from "../../../src/store/memory/memory-store.ts";
import { copyDatabase } from "../../../src/store/sqlite/recovery/backup.ts";
import { writeMeta } from "../../../src/store/sqlite/meta.ts";
import { migrations } from "../../../src/store/sqlite/migrations.ts";
import { checkBackup, restoreBackup } from "../../../src/store/sqlite/recovery/restore.ts";
import { saveBackup } from "../../../src/store/sqlite/recovery/save-backup.ts";
import { withDirectory, withSqlite } from "./sqlite-support.ts";
import { loadAll, put } from "./store-data.ts";

const ROWS = 5_000; // some hundred steps of a copy
const group = (name: string): string =>
  JSON.stringify({ id: name, weight: 1, pad: "x".repeat(500) });

const manyGroups = (prefix: string): ReturnType<typeof put>[] =>
  Array.from({ length: ROWS }, (_, index) => {
    const name = `${prefix}${index}`;
    return put(`group/${name}`, group(name));
  });

function setVersion(file: string, version: number): void {
  const db = new DatabaseSync(file);
  writeMeta(db, "schema", version);
  db.close();
}

async function* cut(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let count = 0;
  for await (const chunk of bytes) {
    if ((count += 1) > 2) throw new Error("the connection is gone");
    yield chunk;
  }
}

describe("sqlite store: backup", () => {
  test("commits continue meanwhile, and the copy is complete and has everything from before", () =>
    withDirectory(async (data) => {
      const file = `${data}-backup`;
      let commits = 0;
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: manyGroups("a"), lastId: 5 });
        const copy = { isOver: false };
        const saving = saveBackup(file, store.backup()).finally(() => (copy.isOver = true));
        while (!copy.isOver) {
          commits += 1;
          const one = put(`group/b${commits}`, group(`b${commits}`));
          await store.commit({ revision: 1 + commits, writes: [one] });
        }
        const saved = await saving;
        expect(saved).toEqual({ file, ...checkBackup(file) });
        expect(saved.rows).toBe(ROWS + saved.revision - 1);
        expect(saved.revision).toBeLessThanOrEqual(1 + commits);
      });
      expect(commits).toBeGreaterThan(1);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readdirSync(data).toSorted()).toEqual(["busbar.db", "busbar.record"]);
      const directory = `${data}-restored`;
      const { rows } = restoreBackup({ file, directory, replaces: data });
      expect(await withSqlite(directory, loadAll)).toHaveLength(rows);
    }));

  test("one that begins during a commit waits for it", () =>
    withDirectory(async (data) => {
      await withSqlite(data, (store) =>
        store.commit({ revision: 1, writes: manyGroups("a"), lastId: 5 }),
      );
      const db = new DatabaseSync(join(data, "busbar.db"));
      db.exec("BEGIN IMMEDIATE; UPDATE rows SET revision = revision");
      const copied = copyDatabase(db, `${data}-backup`);
      setTimeout(() => db.exec("ROLLBACK"), 4 * limits.backupRetryMs);
      await copied;
      expect(checkBackup(`${data}-backup`).rows).toBe(ROWS);
      db.close();
    }));

  test("one of an older version is restored, one of a newer version rejected", () =>
    withDirectory(async (data) => {
      const file = `${data}-backup`;
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: manyGroups("a"), lastId: 5 });
        await saveBackup(file, store.backup());
      });
      const rows = await withSqlite(data, loadAll);
      setVersion(file, migrations.length + 1);
      const restore = () => restoreBackup({ file, directory: `${data}-new`, replaces: data });
      expect(restore).toThrow(`schema version ${migrations.length + 1}, this busbar knows`);
      expect(existsSync(`${data}-new`)).toBe(false);
      const db = new DatabaseSync(file); // how the first version stored rows
      db.exec(`
        CREATE TABLE old (
          key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL, crc INTEGER NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO old SELECT key, value, revision, crc FROM rows;
        DROP TABLE rows;
        ALTER TABLE old RENAME TO rows`);
      db.close();
      setVersion(file, 1);
      restore();
      expect(await withSqlite(`${data}-new`, loadAll)).toEqual(rows);
    }));

  test("one at a time, and one that is left early leaves nothing behind", () =>
    withDirectory(async (data) => {
      await withSqlite(data, async (store) => {
        await store.commit({ revision: 1, writes: manyGroups("a") });
        const first = store.backup()[Symbol.asyncIterator]();
        const { value } = await first.next();
        expect(value?.length).toBe(limits.backupChunkBytes);
        const second = store.backup()[Symbol.asyncIterator]();
        await expect(second.next()).rejects.toMatchObject({ code: "exhausted" });
        await first.return?.();
        const broken = saveBackup(`${data}-backup`, cut(store.backup()));
        await expect(broken).rejects.toThrow("the connection is gone");
        expect(readdirSync(data).some((name) => name.includes("backup"))).toBe(false);
      });
      expect(existsSync(`${data}-backup`)).toBe(false);
    }));

  test("an existing file is not replaced, and leftovers of a killed server are removed", () =>
    withDirectory(async (data) => {
      const file = `${data}-backup`;
      writeFileSync(file, "mine");
      await withSqlite(data, async (store) => {
        await expect(saveBackup(file, store.backup())).rejects.toThrow("already exists");
      });
      writeFileSync(join(data, "busbar.backup-1"), "half of it");
      await withSqlite(data, loadAll);
      expect(readdirSync(data).toSorted()).toEqual(["busbar.db", "busbar.record"]);
    }));

  test("a store in memory reports that there is nothing to back up", () => {
    expect(() => createMemoryStore().backup()).toThrow("in memory");
  });
});
