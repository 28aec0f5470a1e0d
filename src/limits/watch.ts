import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Watches (docs/design/watches.md). */
export const watchLimits = {
  watchesMax: 10_000,
  watchesPerAddressMax: 5_000, // from one machine, so that others find places
  watchesPerConnectionMax: 500,
  watchesOfOneJobReserve: 1_000, // of all places, and of those of one machine: for clients that wait for a job
  watchHistoryChangesMax: 100_000,
  watchHistoryBytesKept: 20 * MIB, // about 42,000 changes of tasks, for watches that resume; does not count pending jobs: the state has them
  watchHistoryBytesMax: 64 * MIB, // the same, while some watches have not read all of it
  watchBlockEventsMax: 128, // rendered together
  watchBlockBytesMax: 64 * KIB, // of a block; a larger event has a block of its own
  watchUnsentBytesMax: 256 * KIB, // of one watch; beyond this its reader must read before the server sends more
  watchSendBufferBytes: 64 * KIB, // of the kernel for one reader; the kernel adds as much for itself
  watchRenderedBytesFull: 24 * MIB, // rendered events for all readers; beyond this the server ends the slowest watches
  watchRenderedBytesMax: 32 * MIB, // including the watches that are being ended; beyond this the server cuts these off
  watchRendersPerSliceMax: 256, // events, before other work has its turn: about 3 ms
  watchSendsPerSliceMax: 32, // to watches
  followedEventsPerSliceMax: 256, // that followers in this process receive before other work has its turn
  followedEventsBehindMax: 40_000, // that followers have not received; beyond this they go before all other work
  watchPackBytesMin: 1 * KIB, // one event is smaller: compressing it would cost more than sending it
  watchPackBytesMax: 256 * KIB, // of one event that the deciding thread compresses: at most 6 ms
  watchRunBytesMax: 192 * KIB, // of blocks that are compressed together; the last one may be as large as a block
  watchPackedBytesPerSliceMax: 512 * KIB, // before other work has its turn: at most 12 ms
} as const;

invariant(
  watchLimits.watchesPerConnectionMax < watchLimits.watchesPerAddressMax &&
    watchLimits.watchesPerAddressMax < watchLimits.watchesMax,
  "one caller must not take all watches",
);
invariant(
  watchLimits.watchesOfOneJobReserve < watchLimits.watchesPerAddressMax,
  "watches of everything must find places too",
);
invariant(
  watchLimits.watchHistoryBytesKept < watchLimits.watchHistoryBytesMax,
  "a watch that reads must not lose what one that resumes would have",
);
invariant(
  watchLimits.followedEventsBehindMax < watchLimits.watchHistoryChangesMax,
  "watches must find in the history what followers have just heard",
);
invariant(
  watchLimits.watchBlockBytesMax < watchLimits.watchUnsentBytesMax,
  "a watch must be able to send one block while it renders the next",
);

invariant(
  watchLimits.watchPackBytesMin < watchLimits.watchBlockBytesMax &&
    watchLimits.watchBlockBytesMax <= watchLimits.watchPackBytesMax,
  "blocks of several events must be compressed",
);
invariant(
  watchLimits.watchRunBytesMax + watchLimits.watchBlockBytesMax <= watchLimits.watchPackBytesMax,
  "blocks that are put together must be compressed",
);
invariant(
  watchLimits.watchPackBytesMax <= watchLimits.watchPackedBytesPerSliceMax,
  "one block must fit into a slice",
);
invariant(
  watchLimits.watchRenderedBytesMax - watchLimits.watchRenderedBytesFull >=
    watchLimits.watchUnsentBytesMax * 16,
  "readers that are ended must have room to read why",
);
