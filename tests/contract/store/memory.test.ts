import { describe, expect, test } from "vitest";
import { AppError } from "../../../src/lib/errors.ts";
import { createMemoryStore, MemoryDisk } from "../../../src/store/memory/memory-store.ts";
import { describeStoreContract } from "./store-contract.ts";
import { loadAll, put } from "./store-data.ts";

describeStoreContract({
  name: "memory",
  createData: async () => {
    const disk = new MemoryDisk();
    return { open: async () => createMemoryStore(disk), remove: async () => undefined };
  },
  propertyRuns: 200,
});

describe("memory store: simulated faults", () => {
  test("a commit is not durable before its hook has ended, and the next one waits for it", async () => {
    const disk = new MemoryDisk();
    const slow = Promise.withResolvers<void>();
    const seen: number[] = [];
    const store = createMemoryStore(disk, {
      beforeCommit: async ({ revision }) => {
        seen.push(revision);
        await slow.promise;
      },
    });
    const commits = [1, 2].map((revision) => store.commit({ revision, writes: [put("a", "1")] }));
    await Promise.resolve();
    expect(seen).toEqual([1]);
    expect(disk.revision).toBe(0);
    slow.resolve();
    await Promise.all(commits);
    expect(seen).toEqual([1, 2]);
    expect(disk.revision).toBe(2);
    await store.close();
  });

  test("a hook that throws fails the commit with its cause, and everything after it", async () => {
    const disk = new MemoryDisk();
    const full = new Error("disk full");
    const store = createMemoryStore(disk, { beforeCommit: () => Promise.reject(full) });
    const commits = [1, 2].map((revision) => store.commit({ revision, writes: [put("a", "1")] }));
    for (const result of await Promise.allSettled(commits)) {
      const reason: unknown = expect.any(AppError);
      expect(result).toMatchObject({ status: "rejected", reason });
      expect(result).toMatchObject({ reason: { code: "unavailable", cause: full } });
    }
    await store.close();
    expect(disk.revision).toBe(0);
  });

  test("a crash loses batches that are not durable, and frees the disk", async () => {
    const disk = new MemoryDisk();
    const slow = Promise.withResolvers<void>();
    const store = createMemoryStore(disk, {
      beforeCommit: ({ revision }) => (revision === 2 ? slow.promise : Promise.resolve()),
    });
    await store.commit({ revision: 1, writes: [put("a", "1")] });
    const lost = store.commit({ revision: 2, writes: [put("a", "2")] });
    disk.crash();
    const next = createMemoryStore(disk);
    slow.resolve();
    await expect(lost).rejects.toMatchObject({ code: "unavailable" });
    await store.close(); // does not free a disk that it no longer holds
    expect(() => createMemoryStore(disk)).toThrow("holds this memory");
    expect(await loadAll(next)).toEqual([{ key: "a", value: "1", revision: 1 }]);
    await next.close();
  });
});
