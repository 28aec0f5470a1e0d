const KIB = 1024;
const MIB = 1024 * KIB;

/** Stores. */
export const storeLimits = {
  storeBatchesPendingMax: 10_000,
  storeGroupRowsMax: 50_000, // of waiting batches, committed together
  storePartCharsMax: 8 * MIB, // of one string between threads; V8 allows 512 MiB
  storeChunkRowsMax: 1_000, // read at once when loading
  storeReadAheadChars: 16 * MIB, // of rows that the reader has not taken; the store checks its pages while the reader applies them
  storeCacheBytes: 16 * MIB, // keys are written in order: the pages in use are few
  storeWalIdleBytes: 4 * MIB, // moved into the database after a pause without commits
  storeWalBytesMax: 64 * MIB, // moved into the database even while commits wait
  storeFewRowsMax: 64, // a commit of so few moves the log rather than lengthen its file
  storeJournalBytes: MIB, // commits that the database has not flushed; every record has this length
  storeJournalEntryBytesMax: 64 * KIB, // of one commit; a larger one goes to the database at once
  storeApplyRows: 256, // of the journal, collected before the store's thread receives them
  storeApplyRowsMax: 1_024, // of several such messages, written to the database at once
  poolThreads: 6, // of libuv: they write commits to the journal, unpack messages, compute slow hashes
  storeIdleMs: 50, // without a commit, until the store's thread receives the rest, and may move the log
  storeRestMs: 3_000, // without a message, until the store's thread returns memory
  storeGarbageBytes: 8 * MIB, // growth of its heap since it last did so
  backupChunkBytes: 256 * KIB, // of one message
  backupPagesPerStep: 64, // copied while commits wait
  backupTriesMax: 200, // to begin between two commits
  backupRetryMs: 5,
  unknownJobsMax: 10_000_000, // ids to skip when it is unknown how many were issued; of 2^31
  unknownRevisionsMax: 1_000_000_000, // revisions to skip for the same reason; of 2^53
} as const;
