import { describe, expect, test } from "vitest";
import { limits } from "../../../src/limits.ts";
import type { StoredRow } from "../../../src/ports/store.ts";
import { del, loadAll, put, withData, withStore, type StoreContract } from "./store-data.ts";

export function describeLoad(contract: StoreContract): void {
  describe(`${contract.name} store: load`, () => {
    test(
      "yields nothing when there is nothing",
      withStore(contract, async (store) => {
        expect(await loadAll(store)).toEqual([]);
      }),
    );

    test(
      "yields every row once, in the order of the keys' bytes, in chunks",
      withStore(contract, async (store, reopen) => {
        // U+FFFD sorts after U+1F600 by UTF-16 units, and before it by bytes.
        const odd = ["", "a", "a\0", "a/", "aa", "\u00e9", "\uffee", "\uffefz", "\u{1F600}"];
        const count = 2 * limits.storeChunkRowsMax + 500;
        const usual = Array.from({ length: count }, (_, index) => `job/${index}`);
        const keys = [...odd, ...usual];
        await store.commit({ revision: 1, writes: keys.toReversed().map((key) => put(key, key)) });
        const chunks: (readonly StoredRow[])[] = [];
        for await (const chunk of (await reopen()).load()) chunks.push(chunk);
        expect(chunks.length).toBeGreaterThan(2);
        const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(chunks.flat()).toEqual(sorted.map((key) => ({ key, value: key, revision: 1 })));
      }),
    );

    test(
      "is called once, before the first commit",
      withStore(contract, async (store, reopen) => {
        await loadAll(store);
        expect(() => store.load()).toThrow("called once");
        const again = await reopen();
        await again.commit({ revision: 1, writes: [] });
        expect(() => again.load()).toThrow("called once");
      }),
    );

    test(
      "blocks commits until it has ended, also when the reader stops early",
      withStore(contract, async (store, reopen) => {
        const count = 10 * limits.storeChunkRowsMax;
        const writes = Array.from({ length: count }, (_, index) => put(`${index}`, "x"));
        await store.commit({ revision: 1, writes });
        const again = await reopen();
        for await (const chunk of again.load()) {
          expect(chunk.length).toBeLessThan(count);
          await expect(again.commit({ revision: 2, writes: [] })).rejects.toThrow("load must end");
          break;
        }
        await again.commit({ revision: 2, writes: [del("0")] });
        expect(await loadAll(await reopen())).toHaveLength(count - 1);
      }),
    );
  });
}

export function describeClose(contract: StoreContract): void {
  describe(`${contract.name} store: close`, () => {
    test(
      "waits for the commits under way",
      withStore(contract, async (store, reopen) => {
        const commits = [1, 2, 3].map((revision) =>
          store.commit({ revision, writes: [put(`${revision}`, "x")] }),
        );
        const again = await reopen();
        await Promise.all(commits);
        expect(again.revision()).toBe(3);
      }),
    );

    test(
      "may be called again; every other call then fails",
      withStore(contract, async (store) => {
        await Promise.all([store.close(), store.close()]);
        await store.close();
        const commit = store.commit({ revision: 1, writes: [] });
        await expect(commit).rejects.toMatchObject({ code: "unavailable" });
        expect(() => store.load()).toThrow(expect.objectContaining({ code: "unavailable" }));
      }),
    );

    test(
      "rejects later calls, though it has not ended",
      withStore(contract, async (store) => {
        const closing = store.close();
        const late = store.commit({ revision: 1, writes: [] });
        await expect(late).rejects.toThrow("the store is closed");
        expect(() => store.load()).toThrow("the store is closed");
        await closing;
      }),
    );

    test(
      "ends a load that is still under way",
      withStore(contract, async (store, reopen) => {
        const count = 10 * limits.storeChunkRowsMax;
        const writes = Array.from({ length: count }, (_, index) => put(`${index}`, "x"));
        await store.commit({ revision: 1, writes });
        const again = await reopen();
        const rows = again.load()[Symbol.asyncIterator]();
        await rows.next();
        await again.close();
        await rows.return?.();
        expect(await loadAll(await reopen())).toHaveLength(count);
      }),
    );

    test(
      "frees the data, which only one store may hold",
      withData(contract, async (data) => {
        const first = await data.open();
        await expect(data.open()).rejects.toMatchObject({ code: "conflict" });
        await first.commit({ revision: 1, writes: [put("a", "1")] }); // not disturbed
        await first.close();
        const second = await data.open();
        expect(second.revision()).toBe(1);
        await second.close();
      }),
    );
  });
}
