import { existsSync } from "node:fs";
import { copyFile, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { migrate, migrations } from "../../../src/store/sqlite/migrations.ts";
import { rowChecksum } from "../../../src/store/sqlite/row-checksum.ts";
import { openSqlite, withDirectory, withSqlite } from "./sqlite-support.ts";
import { loadAll, put } from "./store-data.ts";

const ROWS = 500;
const fileOf = (data: string): string => join(data, "busbar.db");

async function fill(data: string): Promise<void> {
  await withSqlite(data, async (store) => {
    const writes = Array.from({ length: ROWS }, (_, index) =>
      put(`job/${String(index).padStart(4, "0")}`, `value of ${index} ${"x".repeat(100)}`),
    );
    await store.commit({ revision: 1, writes });
    await store.commit({ revision: 2, writes: [put("job/0007", "a newer value")] });
  });
}

function editWith(sql: string): (file: string) => Promise<void> {
  return async (file) => {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  };
}

/** Flips one bit of a byte within the text, which must occur in the file once. */
function flipIn(text: string): (file: string) => Promise<void> {
  return async (file) => {
    const bytes = await readFile(file);
    const at = bytes.indexOf(text);
    expect(at).toBeGreaterThan(0);
    bytes.writeUInt8(bytes.readUInt8(at + 1) ^ 1, at + 1);
    await writeFile(file, bytes);
  };
}

async function flipAt(file: string, at: number): Promise<void> {
  const bytes = await readFile(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  await writeFile(file, bytes);
}

interface Damage {
  readonly what: string;
  readonly damage: (file: string) => Promise<void>;
  readonly says: string;
}

const damages: readonly Damage[] = [
  {
    what: "a flipped bit in a value",
    damage: flipIn("value of 321"),
    says: "not what was written",
  },
  { what: "a flipped bit in a key", damage: flipIn("job/0321"), says: "not what was written" },
  {
    what: "a changed revision",
    damage: editWith("UPDATE rows SET revision = 2 WHERE key = 'job/0003'"),
    says: 'row "job/0003" is not what was written',
  },
  {
    what: "a deleted row",
    damage: editWith("DELETE FROM rows WHERE key = 'job/0499'"),
    says: "it holds 499 rows where 500 were written",
  },
  {
    what: "a row in place of another",
    damage: editWith(`DELETE FROM rows WHERE key = 'job/0499';
      INSERT INTO rows VALUES ('other', 'x', 1, ${rowChecksum("otherx", 1)})`),
    says: "a row is not the newest one written",
  },
  {
    what: "a lost last revision",
    damage: editWith("DELETE FROM meta WHERE name = 'revision'"),
    says: "its totals are not what was written",
  },
  {
    what: "a changed last revision",
    damage: editWith("UPDATE meta SET value = 9 WHERE name = 'revision'"),
    says: "its totals are not what was written",
  },
  {
    what: "a changed schema version",
    damage: editWith("UPDATE meta SET value = 0 WHERE name = 'schema'"),
    says: "its schema version is not what was written",
  },
  {
    what: "a missing table",
    damage: editWith("DROP TABLE rows"),
    says: "its first page is not what was written",
  },
  {
    what: "a flipped bit where no row is",
    damage: (file) => flipAt(file, 200),
    says: "its first page is not what was written",
  },
  {
    what: "a wrong number of free pages",
    damage: (file) => flipAt(file, 39),
    says: "its pages do not fit together",
  },
  { what: "half of the file", damage: (file) => truncate(file, 40_000), says: "pages" },
  { what: "all but the first page", damage: (file) => truncate(file, 4096), says: "pages" },
  { what: "an empty file", damage: (file) => truncate(file, 0), says: "it is empty" },
  {
    what: "a file that is no database",
    damage: (file) => writeFile(file, "not a database ".repeat(1000)),
    says: "it is not a SQLite database",
  },
  {
    what: "a database of another program",
    damage: async (file) => {
      await rm(file);
      await editWith("CREATE TABLE cats (name TEXT)")(file);
    },
    says: "it is a database of another program",
  },
];

describe("sqlite store: damaged data", () => {
  for (const { what, damage, says } of damages) {
    test(`${what} is detected; the error names the file and what to do`, () =>
      withDirectory(async (data) => {
        await fill(data);
        await damage(fileOf(data));
        const error: unknown = await withSqlite(data, loadAll).catch((caught: unknown) => caught);
        expect(error).toMatchObject({
          code: "internal",
          message: expect.stringContaining(`${fileOf(data)} is damaged`),
        });
        expect(error).toMatchObject({ message: expect.stringContaining(says) });
        expect(error).toMatchObject({ message: expect.stringContaining("restore") });
      }));
  }

  test("a row in an older state is detected", () =>
    withDirectory(async (data) => {
      await fill(data);
      const db = new DatabaseSync(fileOf(data));
      const old = db.prepare("SELECT * FROM rows WHERE key = 'job/0007'").get();
      db.close();
      await withSqlite(data, (store) =>
        store.commit({ revision: 3, writes: [put("job/0007", "the newest value")] }),
      );
      const again = new DatabaseSync(fileOf(data));
      again
        .prepare("UPDATE rows SET value = ?, revision = ?, crc = ? WHERE key = 'job/0007'")
        .run(old?.["value"] ?? "", old?.["revision"] ?? 0, old?.["crc"] ?? 0);
      again.close();
      await expect(withSqlite(data, loadAll)).rejects.toThrow(
        "a row is not the newest one written",
      );
    }));

  test("nothing is committed over data that failed to load", () =>
    withDirectory(async (data) => {
      await fill(data);
      await editWith("DELETE FROM rows WHERE key = 'job/0499'")(fileOf(data));
      await withSqlite(data, async (store) => {
        await expect(loadAll(store)).rejects.toThrow("damaged");
        await expect(store.commit({ revision: 9, writes: [] })).rejects.toThrow("damaged");
      });
    }));

  test("a log without its database is not replayed into a new one", () =>
    withDirectory(async (data) => {
      const store = await openSqlite(data);
      await store.commit({ revision: 1, writes: [put("a", "1")] });
      await copyFile(`${fileOf(data)}-wal`, `${data}-kept`);
      await store.close();
      await rm(fileOf(data));
      await copyFile(`${data}-kept`, `${fileOf(data)}-wal`);
      await expect(openSqlite(data)).rejects.toThrow("its log (busbar.db-wal) exists");
      expect(existsSync(fileOf(data))).toBe(false);
    }));
});

describe("sqlite store: schema versions", () => {
  test("an older database is migrated to the newest version when it is opened", () =>
    withDirectory(async (data) => {
      await withSqlite(data, loadAll);
      // Version 0 is how every database begins: ours, and without tables.
      await editWith("DROP TABLE rows; DROP TABLE meta")(fileOf(data));
      await withSqlite(data, (store) => store.commit({ revision: 1, writes: [put("a", "1")] }));
      expect(await withSqlite(data, loadAll)).toEqual([{ key: "a", value: "1", revision: 1 }]);
    }));

  test("a newer database is refused; the error names both versions", () =>
    withDirectory(async (data) => {
      await withSqlite(data, loadAll);
      const db = new DatabaseSync(fileOf(data));
      const newer = [...migrations, () => undefined, () => undefined];
      migrate(db, fileOf(data), newer);
      db.close();
      const newest = migrations.length;
      await expect(openSqlite(data)).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining(
          `schema version ${newest + 2}, this busbar knows versions up to ${newest}: use the newer`,
        ),
      });
    }));

  test("keys are compared without reading long rows, also in databases that were made before", () => {
    const db = new DatabaseSync(":memory:");
    const isByWholeRows = (): unknown =>
      db.prepare("SELECT wr FROM pragma_table_list WHERE name = 'rows'").get()?.["wr"];
    migrate(db, "test", migrations.slice(0, 1));
    expect(isByWholeRows()).toBe(1);
    db.exec("INSERT INTO rows VALUES ('b', '2', 1, 5), ('a', '1', 1, 4)");
    const rows = () => db.prepare("SELECT key, value, revision, crc FROM rows ORDER BY key").all();
    const before = rows();
    migrate(db, "test");
    expect(isByWholeRows()).toBe(0);
    expect(rows()).toEqual(before);
    expect(() => db.exec("INSERT INTO rows VALUES ('a', '1', 1, 4)")).toThrow("UNIQUE");
    db.close();
  });

  const addColumn = (db: DatabaseSync): void => {
    db.exec("ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'");
  };
  const earlier = [
    ...migrations,
    (db: DatabaseSync) =>
      db.exec("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('hi')"),
  ];
  const columns = (db: DatabaseSync): number => db.prepare("SELECT * FROM notes").columns().length;

  test("only the missing steps run, and rows survive them", () => {
    const db = new DatabaseSync(":memory:");
    migrate(db, "test", earlier);
    migrate(db, "test", [...earlier, addColumn]);
    migrate(db, "test", [...earlier, addColumn]); // nothing is left to do
    expect(db.prepare("SELECT * FROM notes").all()).toMatchObject([
      { text: "hi", author: "nobody" },
    ]);
    db.close();
  });

  test("a step that fails undoes those before it, and the version stays", () => {
    const db = new DatabaseSync(":memory:");
    migrate(db, "test", earlier);
    const fail = (): void => {
      throw new Error("step failed");
    };
    expect(() => migrate(db, "test", [...earlier, addColumn, fail])).toThrow("step failed");
    expect(columns(db)).toBe(1);
    migrate(db, "test", [...earlier, addColumn]); // works only if the version did not change
    expect(columns(db)).toBe(2);
    db.close();
  });
});
