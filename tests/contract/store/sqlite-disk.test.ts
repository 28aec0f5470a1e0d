import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmdirSync, statfsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { restoreBackup } from "../../../src/store/sqlite/recovery/restore.ts";
import { openSqlite, withSqlite } from "./sqlite-support.ts";
import { loadAll, put } from "./store-data.ts";

const mount = (...args: readonly string[]): void => {
  execFileSync("mount", args, { stdio: "ignore" });
};

/** Runs with its own file system, small enough to fill. */
async function withDisk(run: (path: string) => Promise<void>): Promise<void> {
  const path = mkdtempSync(join(tmpdir(), "busbar-disk-"));
  try {
    mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", path);
    try {
      await run(path);
    } finally {
      execFileSync("umount", [path]);
    }
  } finally {
    rmdirSync(path);
  }
}

const canMount = await withDisk(async () => undefined).then(
  () => true,
  () => false,
);
const skipped = canMount ? "" : " (skipped: this user may not mount a tmpfs)";

describe.skipIf(!canMount)(`sqlite store: a disk that refuses${skipped}`, () => {
  test("a full disk fails the commit and all after it, and loses nothing acknowledged", () =>
    withDisk(async (path) => {
      const data = join(path, "data");
      const store = await openSqlite(data);
      const value = "x".repeat(1000);
      let failure: unknown;
      let revision = 0;
      while (failure === undefined && revision < 1000) {
        revision += 1;
        const writes = Array.from({ length: 50 }, (_, index) => put(`${revision}/${index}`, value));
        failure = await store.commit({ revision, writes }).catch((error: unknown) => error);
      }
      expect(failure).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("the disk is full; make room, then restart"),
        cause: { message: expect.stringContaining("full") },
      });
      const later = store.commit({ revision: revision + 1, writes: [] });
      await expect(later).rejects.toBe(failure);
      expect(store.revision()).toBe(revision - 1);
      await store.close();

      mount("-o", "remount,size=16m", path);
      await withSqlite(data, async (again) => {
        expect(again.revision()).toBe(revision - 1);
        expect(await loadAll(again)).toHaveLength((revision - 1) * 50);
        await again.commit({ revision, writes: [put("room", "again")] });
      });
    }));

  test("a disk that fills up behind small commits: they are durable in the journal, and a start with room has them", () =>
    withDisk(async (path) => {
      const data = join(path, "data");
      const store = await openSqlite(data);
      const big = join(path, "big");
      await expect(writeFile(big, new Uint8Array(4 * 1024 * 1024))).rejects.toThrow("ENOSPC");
      let failure: unknown;
      let revision = 0;
      while (failure === undefined && revision < 1000) {
        revision += 1;
        const writes = Array.from({ length: 10 }, (_, index) => put(`${revision}/${index}`, "x"));
        failure = await store.commit({ revision, writes }).catch((error: unknown) => error);
      }
      expect(failure).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("the disk is full; make room, then restart"),
      });
      const acknowledged = store.revision();
      expect(acknowledged).toBeGreaterThan(0); // though the database could not take one of them
      await store.close();
      await expect(openSqlite(data)).rejects.toMatchObject({
        message: expect.stringContaining("full"),
      });

      await rm(big);
      await withSqlite(data, async (again) => {
        expect(again.revision()).toBe(acknowledged);
        expect(await loadAll(again)).toHaveLength(10 * acknowledged);
        await again.commit({ revision: acknowledged + 1, writes: [put("room", "again")] });
      });
    }));

  test("a disk too full for a new database is refused, with what to do", () =>
    withDisk(async (path) => {
      await expect(writeFile(join(path, "big"), new Uint8Array(4 * 1024 * 1024))).rejects.toThrow();
      await expect(openSqlite(join(path, "data"))).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("is full"),
      });
      expect(readdirSync(join(path, "data"))).toEqual([]);
    }));

  test.each([0, 100, 600])(
    "a disk with %i KiB is too full for a backup: the message names it, and a second try with room works",
    (freeKib) =>
      withDisk(async (path) => {
        const file = join(path, "busbar.db");
        const pad = "x".repeat(1000);
        const writes = Array.from({ length: 200 }, (_, index) =>
          put(`group/g${index}`, JSON.stringify({ id: `g${index}`, weight: 1, pad })),
        );
        await withSqlite(path, (store) => store.commit({ revision: 1, writes }));
        await rm(join(path, "busbar.record"));
        const { bavail, bsize } = statfsSync(path);
        await writeFile(join(path, "big"), new Uint8Array(bavail * bsize - freeKib * 1024));
        const directory = join(path, "restored");
        const restore = () => restoreBackup({ file, directory, replaces: undefined });
        expect(restore).toThrow(`the disk of ${directory} is full: free some space`);
        expect(readdirSync(directory)).toEqual([]);
        await rm(join(path, "big"));
        expect(restore()).toMatchObject({ rows: 200 });
      }),
  );

  test("a read-only directory is refused, with what to do, with and without data in it", () =>
    withDisk(async (path) => {
      const data = join(path, "data");
      await withSqlite(data, (store) => store.commit({ revision: 1, writes: [put("a", "1")] }));
      mount("-o", "remount,ro", path);
      for (const directory of [data, join(path, "new")]) {
        await expect(openSqlite(directory)).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringContaining(`${directory} is not writable`),
        });
      }
    }));
});
