/** One row to write: `value` undefined deletes the key. Keys sort by their bytes. */
export interface RowWrite {
  readonly key: string;
  readonly value: string | undefined;
  /** Of the change that wrote it; undefined: that of the batch. */
  readonly revision?: number | undefined;
}

/** Changes that are durable together or not at all. */
export interface Batch {
  /** Of its last change. */
  readonly revision: number;
  readonly writes: readonly RowWrite[];
  /** The largest number given out so far that must never be given out again; 0: none. */
  readonly lastId?: number;
}

/** A stored row, with the revision of the change that wrote it last. */
export interface StoredRow {
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/**
 * Keeps rows under keys, in batches with revisions. One server writes at a time.
 *
 * - `commit` resolves when the batch is durable: it survives kill -9 and power loss. A batch is
 *   never seen in part. Batches commit in the order of the calls; one may be called before the
 *   last has resolved.
 * - Revisions grow: a batch whose revision is not larger than the last one's is refused with
 *   `conflict` and changes nothing. Gaps are allowed. Those of its rows are larger than that of the
 *   batch before, and at most its own.
 * - Within one batch a key stands at most once. Deleting a key that is not there is fine.
 * - After a failed commit the store is broken: every later call fails with `unavailable`,
 *   because it cannot know what reached the disk.
 * - `load` yields every row once, in key order, in chunks; it is called once, before the first
 *   commit. A row that is damaged or missing fails the load, naming what is wrong.
 * - `revision` is that of the last durable batch; 0 when there is none.
 * - `lastId` is the largest that any batch has named, whatever became of the rows: it is kept apart
 *   from them, and so is `revision`. Where rows were lost, and somebody accepted it, both are beyond
 *   what was lost.
 * - `backup` yields the bytes of a copy of all that is durable when it ends, and does not keep
 *   commits waiting for long. One at a time: another is refused with `exhausted`.
 * - `close` waits for commits under way, frees the data for another process, and may be called
 *   again.
 *
 * Opening is the adapter's own function (createSqliteStore, …): it refuses data that another
 * process holds (`conflict`), data of a newer schema, and damaged data, each with what to do.
 */
export interface Store {
  readonly name: string;
  revision(): number;
  lastId(): number;
  load(): AsyncIterable<readonly StoredRow[]>;
  commit(batch: Batch): Promise<void>;
  backup(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}
