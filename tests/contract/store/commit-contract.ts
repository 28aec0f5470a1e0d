import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import type { RowWrite } from "../../../src/ports/store.ts";
import { del, loadAll, put, withStore, type StoreContract } from "./store-data.ts";

export function describeCommits(contract: StoreContract): void {
  describe(`${contract.name} store: commits`, () => {
    test(
      "a committed batch exists after the data was opened again",
      withStore(contract, async (store, reopen) => {
        await store.commit({ revision: 1, writes: [put("b", "2"), put("a", "1")] });
        await store.commit({ revision: 2, writes: [put("a", "3"), put("c", "4")] });
        expect(await loadAll(await reopen())).toEqual([
          { key: "a", value: "3", revision: 2 },
          { key: "b", value: "2", revision: 1 },
          { key: "c", value: "4", revision: 2 },
        ]);
      }),
    );

    test(
      "the largest named id is retained, whatever later batches name",
      withStore(contract, async (store, reopen) => {
        expect(store.lastId()).toBe(0);
        await store.commit({ revision: 1, writes: [put("a", "1")], lastId: 7 });
        await store.commit({ revision: 2, writes: [del("a")], lastId: 3 });
        await store.commit({ revision: 3, writes: [] });
        expect((await reopen()).lastId()).toBe(7);
      }),
    );

    test(
      "batches commit in the order of the calls, also when no caller waits for the last one",
      withStore(contract, async (store, reopen) => {
        const resolved: number[] = [];
        const commits = Array.from({ length: 50 }, async (_, index) => {
          const writes = [put("shared", `${index}`), put(`own-${index}`, "x"), del("own-0")];
          await store.commit({ revision: index + 1, writes: index === 0 ? [] : writes });
          resolved.push(store.revision());
        });
        await Promise.all(commits);
        // Several may become durable at once; none resolves before an earlier one.
        expect(resolved.toSorted((a, b) => a - b)).toEqual(resolved);
        const rows = await loadAll(await reopen());
        expect(rows.find(({ key }) => key === "shared")).toEqual({
          key: "shared",
          value: "49",
          revision: 50,
        });
        expect(rows).toHaveLength(50);
      }),
    );

    test(
      "a row may be written, deleted and written again by batches that wait together",
      withStore(contract, async (store, reopen) => {
        await Promise.all([
          store.commit({ revision: 1, writes: [put("a", "1"), put("b", "1")] }),
          store.commit({ revision: 2, writes: [del("a"), del("b")] }),
          store.commit({ revision: 3, writes: [put("a", "3")] }),
        ]);
        expect(await loadAll(await reopen())).toEqual([{ key: "a", value: "3", revision: 3 }]);
      }),
    );

    test(
      "deleting removes a row, and deleting a missing row is no error",
      withStore(contract, async (store, reopen) => {
        await store.commit({ revision: 1, writes: [put("a", "1"), put("b", "1"), del("never")] });
        await store.commit({ revision: 2, writes: [del("a"), del("a2")] });
        await store.commit({ revision: 3, writes: [del("a")] });
        expect(await loadAll(await reopen())).toEqual([{ key: "b", value: "1", revision: 1 }]);
      }),
    );

    test(
      "any well-formed text comes back unchanged, however long",
      withStore(contract, async (store, reopen) => {
        const long = "é".repeat(limits.storePartCharsMax - 1);
        const writes = [
          put("", "empty key"),
          put("empty value", ""),
          put("nul \0 in key", "nul \0 in value"),
          put("quotes '\"\\", "new\nline"),
          put("😀", "🚌 and \u{10FFFF}"),
          put("long-1", long),
          put("long-2", `${long}x`),
          del("long-3"),
          put("long-4", `${long}xyz`),
        ];
        await store.commit({ revision: 1, writes });
        const rows = await loadAll(await reopen());
        expect(new Map(rows.map(({ key, value }) => [key, value]))).toEqual(
          new Map(writes.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value]]))),
        );
      }),
    );
  });
}

export function describeRevisions(contract: StoreContract): void {
  describe(`${contract.name} store: revisions`, () => {
    test(
      "each row keeps the revision of its own change, and the batch has the last one",
      withStore(contract, async (store, reopen) => {
        const at = (write: RowWrite, revision: number): RowWrite => ({ ...write, revision });
        await store.commit({ revision: 4, writes: [at(put("a", "1"), 2), at(put("b", "1"), 1)] });
        await store.commit({
          revision: 9,
          writes: [at(put("b", "2"), 7), at(del("c"), 5), put("d", "")],
        });
        expect(store.revision()).toBe(9);
        const again = await reopen();
        expect(again.revision()).toBe(9);
        expect(await loadAll(again)).toEqual([
          { key: "a", value: "1", revision: 2 },
          { key: "b", value: "2", revision: 7 },
          { key: "d", value: "", revision: 9 },
        ]);
      }),
    );

    test(
      "a row with another batch's revision is rejected, and nothing changes",
      withStore(contract, async (store, reopen) => {
        await store.commit({ revision: 4, writes: [put("a", "1")] });
        for (const revision of [3, 4, 7]) {
          const writes = [{ ...put("b", "1"), revision }];
          await expect(store.commit({ revision: 6, writes })).rejects.toThrow("a row's revision");
        }
        expect((await loadAll(await reopen())).map(({ key }) => key)).toEqual(["a"]);
      }),
    );

    test(
      "a batch that is not newer than the last one is rejected and changes nothing",
      withStore(contract, async (store, reopen) => {
        await store.commit({ revision: 5, writes: [put("a", "1")] });
        for (const revision of [5, 4, 0, -1]) {
          const refused = store.commit({ revision, writes: [put("a", "2"), put("b", "2")] });
          await expect(refused).rejects.toMatchObject({ code: "conflict" });
        }
        expect(store.revision()).toBe(5);
        await store.commit({ revision: 6, writes: [put("c", "3")] }); // rejections break nothing
        expect((await loadAll(await reopen())).map(({ key, value }) => key + value)).toEqual([
          "a1",
          "c3",
        ]);
      }),
    );

    test(
      "a batch is compared with the last one called, durable or not",
      withStore(contract, async (store) => {
        const first = store.commit({ revision: 7, writes: [] });
        const refused = store.commit({ revision: 7, writes: [put("a", "1")] });
        await expect(refused).rejects.toMatchObject({ code: "conflict" });
        await first;
        expect(store.revision()).toBe(7);
      }),
    );

    test(
      "the revision is that of the last durable batch, with gaps, and is kept",
      withStore(contract, async (store, reopen) => {
        expect(store.revision()).toBe(0);
        const commit = store.commit({ revision: 3, writes: [put("a", "1")] });
        expect(store.revision()).toBe(0);
        await commit;
        expect(store.revision()).toBe(3);
        await store.commit({ revision: 2 ** 40, writes: [] });
        const again = await reopen();
        expect(again.revision()).toBe(2 ** 40);
        const refused = again.commit({ revision: 2 ** 40, writes: [] });
        await expect(refused).rejects.toMatchObject({ code: "conflict" });
      }),
    );
  });
}

export function describeFailures(contract: StoreContract): void {
  describe(`${contract.name} store: failures`, () => {
    const mistakes: readonly { readonly what: string; readonly writes: readonly RowWrite[] }[] = [
      { what: "writes a key twice", writes: [put("new", "1"), put("k", "1"), put("k", "2")] },
      { what: "writes a key and deletes it", writes: [put("new", "1"), put("k", "1"), del("k")] },
      { what: "deletes a key and writes it", writes: [put("new", "1"), del("k"), put("k", "2")] },
    ];
    for (const { what, writes } of mistakes) {
      test(
        `a batch that ${what} is not stored, not even in part`,
        withStore(contract, async (store, reopen) => {
          await store.commit({ revision: 1, writes: [put("k", "0")] });
          await expect(store.commit({ revision: 2, writes })).rejects.toThrow();
          const again = await reopen();
          expect(again.revision()).toBe(1);
          expect(await loadAll(again)).toEqual([{ key: "k", value: "0", revision: 1 }]);
        }),
      );
    }

    test(
      "text that is not well-formed is rejected, because it would not come back unchanged",
      withStore(contract, async (store) => {
        const bad = store.commit({ revision: 1, writes: [put("a", "half \ud83d")] });
        await expect(bad).rejects.toThrow("well-formed");
      }),
    );

    test(
      "after a failed commit every call fails, pending ones too, until the store is opened again",
      withStore(contract, async (store, reopen) => {
        await store.commit({ revision: 1, writes: [put("a", "1")] });
        const calls = [
          store.commit({ revision: 2, writes: [put("k", "1"), put("k", "2")] }),
          store.commit({ revision: 3, writes: [put("b", "3")] }),
        ];
        for (const result of await Promise.allSettled(calls)) {
          expect(result).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
        }
        const later = store.commit({ revision: 4, writes: [] });
        await expect(later).rejects.toMatchObject({ code: "unavailable" });
        expect(() => store.load()).toThrow(expect.objectContaining({ code: "unavailable" }));
        expect(store.revision()).toBe(1);

        const again = await reopen();
        await again.commit({ revision: 2, writes: [] });
        expect(again.revision()).toBe(2);
      }),
    );
  });
}
