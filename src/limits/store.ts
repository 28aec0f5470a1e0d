const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that are about stores. */
export const storeLimits = {
  storeBatchesPendingMax: 10_000,
  storeGroupRowsMax: 50_000, // of waiting batches, committed together
  storePartCharsMax: 8 * MIB, // of one string between threads; V8 allows 512 MiB
  storeChunkRowsMax: 1_000, // read at once when loading
  storeChunksInFlightMax: 4,
  storeCacheBytes: 16 * MIB, // keys are written in order: the pages in use are few
  storeWalIdleBytes: 4 * MIB, // moved into the database when nothing has happened for a while
  storeWalBytesMax: 64 * MIB, // moved into the database though others wait
  storeIdleMs: 50,
  storeRestMs: 3_000, // without a message, until the store's thread gives memory back
  storeGarbageBytes: 8 * MIB, // by which its heap has grown since it last did
  backupChunkBytes: 256 * KIB, // of one message
  backupPagesPerStep: 64, // copied while commits wait
  backupTriesMax: 200, // to begin between two commits
  backupRetryMs: 5,
  unknownJobsMax: 10_000_000, // ids left out where nobody knows how many were given out; of 2^31
  unknownRevisionsMax: 1_000_000_000, // the same of revisions, of 2^53
} as const;
