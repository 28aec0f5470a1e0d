import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import type { StoredRow } from "../../../src/ports/store.ts";
import {
  bootId,
  JOURNAL_AT,
  readRecord,
  writeNewRecord,
} from "../../../src/store/sqlite/record/record-file.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { readError } from "../../../src/store/sqlite/failures.ts";
import { unpackRows } from "../../../src/store/sqlite/messages.ts";
import { ENTRY_PAGE_BYTES } from "../../../src/store/sqlite/record/journal-entry.ts";
import { commit, leaveBehind, tooLong, withDirectory, withSqlite } from "./sqlite-support.ts";
import { del, loadAll, put } from "./store-data.ts";

const BATCHES = 30;
const FLIPS = 60; // in each of the files

const at = (data: string, name: string): string => join(data, name);

/** As kill -9 leaves it: everything was acknowledged, and is in the log, or in the journal and mostly in the log. */
async function fillAndKill(data: string, how: "log" | "journal" = "journal"): Promise<number> {
  await leaveBehind(data, (database) => {
    for (let revision = 1; revision <= BATCHES; revision += 1) {
      const value = `${revision}`.repeat(50);
      const own = put(`own/${revision}`, how === "journal" ? value : tooLong(value));
      const gone = del(`own/${revision - 10}`);
      const last = put("last", `${revision}`);
      commit(database, { revision, writes: [own, gone, last], lastId: 7 * revision });
      if (revision % 4 === 0) database.apply();
    }
  });
  return BATCHES;
}

function flip(file: string, offset: number, mask = 1): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ mask, offset);
  writeFileSync(file, bytes);
}

const open = (data: string): Promise<StoredRow[]> => withSqlite(data, loadAll);

const refused = (data: string): Promise<unknown> =>
  open(data).then(
    () => undefined,
    (error: unknown) => error,
  );

describe("sqlite store: a database older than its record", () => {
  const damages = [
    {
      what: "a flipped bit in the log",
      damage: (log: string) => flip(log, Math.floor(statSync(log).size / 2)),
    },
    {
      what: "half of the log",
      damage: (log: string) => truncateSync(log, Math.floor(statSync(log).size / 2)),
    },
    { what: "the end of the log", damage: (log: string) => truncateSync(log, lastFrame(log)) },
    { what: "the log", damage: (log: string) => rmSync(log) },
  ];
  for (const { what, damage } of damages) {
    test(`${what} is detected as missing, with the acknowledged revision, and nothing is changed`, () =>
      withDirectory(async (data) => {
        const acknowledged = await fillAndKill(data, "log");
        const log = at(data, "busbar.db-wal");
        damage(log);
        const before = existsSync(log) ? readFileSync(log) : undefined;
        for (const _ of ["once", "again"]) {
          const error = await refused(data);
          expect(error).toMatchObject({ code: "internal" });
          const { message } = error as Error;
          const lost =
            /lack revisions? (?:\d+ to )?(\d+), the last of which was acknowledged at 20/.exec(
              message,
            );
          expect(Number(lost?.[1])).toBe(acknowledged);
          expect(message).toContain(`busbar recover --data ${data}`);
        }
        if (before !== undefined) expect(readFileSync(log)).toEqual(before);
      }));
  }

  test("an old copy of the database is detected", () =>
    withDirectory(async (data) => {
      await withSqlite(data, (store) => store.commit({ revision: 1, writes: [put("a", "1")] }));
      await cp(at(data, "busbar.db"), at(data, "old"));
      await withSqlite(data, (store) => store.commit({ revision: 2, writes: [put("a", "2")] }));
      await cp(at(data, "old"), at(data, "busbar.db"));
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("lack revision 2, the last"),
      });
    }));

  test("another history with the same revision is detected", () =>
    withDirectory(async (data) => {
      await withSqlite(data, (store) => store.commit({ revision: 1, writes: [put("a", "1")] }));
      await cp(at(data, "busbar.db"), at(data, "old"));
      await cp(at(data, "busbar.record"), at(data, "old-record"));
      await withSqlite(data, (store) => store.commit({ revision: 2, writes: [put("a", "2")] }));
      await cp(at(data, "busbar.record"), at(data, "new-record"));
      await cp(at(data, "old"), at(data, "busbar.db"));
      await cp(at(data, "old-record"), at(data, "busbar.record"));
      await withSqlite(data, (store) => store.commit({ revision: 2, writes: [put("a", "x")] }));
      await cp(at(data, "new-record"), at(data, "busbar.record"));
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("at revision 2 it had other rows"),
      });
    }));
});

/** Where the last frame of the log begins to lack bytes: 100 of them are gone. */
const lastFrame = (log: string): number => statSync(log).size - 100;

describe("sqlite store: its record", () => {
  test("a database from before records gets one, and is refused without it later", () =>
    withDirectory(async (data) => {
      await withSqlite(data, (store) => store.commit({ revision: 1, writes: [put("a", "1")] }));
      await rm(at(data, "busbar.record"));
      const db = new DatabaseSync(at(data, "busbar.db"));
      db.exec("DELETE FROM meta WHERE name = 'identity'");
      db.close();
      expect(await open(data)).toHaveLength(1);
      await rm(at(data, "busbar.record"));
      expect(await refused(data)).toMatchObject({
        code: "internal",
        message: expect.stringMatching(/busbar\.record is damaged: it is missing/),
      });
    }));

  test("a record without any intact slot is refused, one with some is not", () =>
    withDirectory(async (data) => {
      await fillAndKill(data);
      const record = at(data, "busbar.record");
      for (let slot = 0; slot < 4; slot += 1) flip(record, slot * 4096 + 30);
      const rows = await open(data);
      expect(rows.length).toBeGreaterThan(0);
      writeFileSync(record, Buffer.alloc(32_768, 7));
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("its slots are not what was written"),
      });
    }));

  test("a record of another database is refused", () =>
    withDirectory(async (data) => {
      await open(data);
      await open(`${data}-other`);
      await cp(at(`${data}-other`, "busbar.record"), at(data, "busbar.record"));
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("it was written for another database"),
      });
    }));

  test("a missing database is not created again beside its record", () =>
    withDirectory(async (data) => {
      await open(data);
      await rm(at(data, "busbar.db"));
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("its record (busbar.record) exists"),
      });
    }));

  test("a commit that the machine cut short is skipped: its revision is never used again", () =>
    withDirectory(async (data) => {
      await withSqlite(data, (store) =>
        store.commit({ revision: 1, writes: [put("a", "1")], lastId: 5 }),
      );
      const read = readRecord(data);
      if (read.kind !== "read") throw new Error(read.kind);
      const cut = { ...read.state, intended: 3, lastId: 8 };
      writeNewRecord(data, cut); // the process was killed: its last entry was written before the slot
      expect(await refused(data)).toMatchObject({
        message: expect.stringContaining("lack revisions 2 to 3, the last of which was written at"),
      });
      writeNewRecord(data, { ...cut, boot: `not ${bootId()}`.slice(0, 36) });
      await withSqlite(data, async (store) => {
        expect(store.revision()).toBe(3);
        expect(store.lastId()).toBe(8);
        expect(await loadAll(store)).toEqual([{ key: "a", value: "1", revision: 1 }]);
      });
    }));
});

/** Without a thread, which takes most of the time otherwise. */
function readHere(data: string): unknown {
  try {
    const database = openDatabase(data);
    try {
      return [...database.readRows()].flatMap(unpackRows);
    } finally {
      database.close();
    }
  } catch (error) {
    return readError(error, at(data, "busbar.db"));
  }
}

/** Some bytes are harmless: free space, moved frames. Nothing in between may happen. */
describe("sqlite store: any flipped byte", () => {
  for (const how of ["kill -9", "a clean stop"]) {
    test(`after ${how} it is refused, or nothing is missing`, { timeout: 240_000 }, () =>
      withDirectory(async (data) => {
        await fillAndKill(data);
        const copy = `${data}-copy`;
        await cp(data, copy, { recursive: true });
        const want = await open(data);
        if (how === "kill -9") await cp(copy, data, { recursive: true });
        else await cp(data, copy, { recursive: true });
        if (how !== "kill -9") await rm(at(copy, "busbar.db-wal"), { force: true });
        const dice = new SeededNumbers(14);
        const outcomes = { refused: 0, whole: 0 };
        for (const file of ["busbar.db", "busbar.db-wal", "busbar.record"]) {
          if (!existsSync(at(copy, file))) continue;
          const used =
            file === "busbar.record" ? JOURNAL_AT + BATCHES * ENTRY_PAGE_BYTES : Infinity;
          for (let count = 0; count < FLIPS; count += 1) {
            await rm(data, { recursive: true });
            await cp(copy, data, { recursive: true });
            const size = Math.min(statSync(at(data, file)).size, used);
            flip(at(data, file), dice.next() % size, 1 << (dice.next() % 8));
            const result = readHere(data);
            if (result instanceof Error) {
              expect(result).toMatchObject({ name: "AppError" });
              expect(result.message).toMatch(/damaged|cannot use|schema version/);
              outcomes.refused += 1;
            } else {
              expect(result).toEqual(want);
              outcomes.whole += 1;
            }
          }
        }
        expect(outcomes.refused).toBeGreaterThan(FLIPS / 8);
        expect(outcomes.whole).toBeGreaterThan(0); // bytes that are never read
      }),
    );
  }
});
