import { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Batch, Store, StoredRow } from "../../ports/store.ts";
import { checkText, compareKeys } from "../keys.ts";
import { StoreGate } from "../store-gate.ts";

/** The data that outlives a memory store: its rows, and the lock. A second store over the same disk sees what a restart would see. */
export class MemoryDisk {
  readonly rows = new Map<string, StoredRow>();
  revision = 0;
  lastId = 0;
  #holder: symbol | undefined;

  hold(): symbol {
    if (this.#holder !== undefined) {
      throw new AppError("conflict", "another store holds this memory: close it first");
    }
    this.#holder = Symbol("holder");
    return this.#holder;
  }

  isHeldBy(holder: symbol): boolean {
    return this.#holder === holder;
  }

  release(holder: symbol): void {
    if (this.#holder === holder) this.#holder = undefined;
  }

  /** Simulates kill -9: durable rows stay, batches under way are lost, the lock is free. */
  crash(): void {
    this.#holder = undefined;
  }
}

export interface MemoryStoreHooks {
  /** Runs before each batch becomes durable: it may delay the batch, or throw as a full disk would. */
  readonly beforeCommit?: (batch: Batch) => Promise<void>;
}

/** Keeps rows in this process, for tests and simulations. They are durable as long as the disk object lives. */
export function createMemoryStore(disk = new MemoryDisk(), hooks: MemoryStoreHooks = {}): Store {
  const holder = disk.hold();
  const gate = new StoreGate(disk.revision);
  let tail: Promise<void> = Promise.resolve();

  async function write(batch: Batch): Promise<void> {
    if (gate.failure !== undefined) throw gate.failure;
    try {
      await hooks.beforeCommit?.(batch);
      invariant(disk.isHeldBy(holder), "the disk was taken away by a crash");
      writeRows(disk, batch);
    } catch (cause) {
      throw gate.fail(
        new AppError("unavailable", "write to memory, restart to recover", { cause }),
      );
    }
    gate.settle(batch.revision);
  }

  async function* chunks(): AsyncGenerator<readonly StoredRow[]> {
    const rows = [...disk.rows.values()].sort((a, b) => compareKeys(a.key, b.key));
    try {
      for (let at = 0; at < rows.length; at += limits.storeChunkRowsMax) {
        yield rows.slice(at, at + limits.storeChunkRowsMax);
      }
    } finally {
      gate.endLoad(); // also when the reader stops early
    }
  }

  return {
    name: "memory",
    revision: () => gate.revision,
    lastId: () => disk.lastId,
    load() {
      gate.beginLoad();
      return chunks();
    },
    async commit(batch) {
      for (const { key, value } of batch.writes) checkText(key + (value ?? ""));
      gate.admit(batch);
      const written = tail.then(() => write(batch));
      tail = written.catch(() => undefined); // each caller gets the failure of its own batch
      await written;
    },
    backup() {
      throw new AppError("unavailable", "the data is in memory: there is nothing to back up");
    },
    async close() {
      const last = tail;
      gate.shut();
      await last;
      disk.release(holder);
    },
  };
}

function writeRows(disk: MemoryDisk, { revision, writes, lastId = 0 }: Batch): void {
  const keys = new Set(writes.map(({ key }) => key));
  invariant(keys.size === writes.length, "a key stands twice in one batch");
  for (const { key, value, revision: own = revision } of writes) {
    if (value === undefined) disk.rows.delete(key);
    else disk.rows.set(key, { key, value, revision: own });
  }
  disk.revision = revision;
  disk.lastId = Math.max(disk.lastId, lastId);
}
