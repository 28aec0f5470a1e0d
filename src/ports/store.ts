/** One row to write: `value` undefined deletes the key. Keys sort by their bytes. */
export interface RowWrite {
  readonly key: string;
  readonly value: string | undefined;
  /** Revision of the change that wrote this row; undefined: that of the batch. */
  readonly revision?: number | undefined;
}

/** Changes that are durable together or not at all. */
export interface Batch {
  /** Revision of the batch's last change. */
  readonly revision: number;
  readonly writes: readonly RowWrite[];
  /** The largest id issued so far, which must never be issued again; 0: none. */
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
 *   atomic. Batches commit in the order of the calls; a call may come before the previous commit
 *   has resolved.
 * - Revisions grow: the store rejects a batch whose revision is not larger than the last one's with
 *   `conflict` and changes nothing. Gaps are allowed. The revisions of a batch's rows are larger than the
 *   revision of the batch before, and at most the batch's own.
 * - A batch names each key at most once. Deleting a missing key is no error.
 * - After a failed commit the store is broken: every later call fails with `unavailable`,
 *   because it cannot know what reached the disk.
 * - `load` yields every row once, in key order, in chunks; the server calls it once, before the first
 *   commit. A damaged or missing row fails the load with an error that says what is wrong.
 * - `revision` is the revision of the last durable batch; 0 when there is none.
 * - `lastId` is the largest that any batch has named, even if its rows are gone: the store keeps `lastId` and
 *   `revision` apart from the rows. When rows were lost and an operator accepted the loss, both are beyond
 *   the lost ones.
 * - `backup` yields the bytes of a copy of all that is durable when it ends, and does not delay
 *   commits for long. One backup at a time: the store rejects another with `exhausted`.
 * - `close` waits for commits under way and releases the data for another process. A second call is no error.
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
