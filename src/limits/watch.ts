import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that are about watches (docs/design/watches.md). */
export const watchLimits = {
  watchesMax: 10_000,
  watchesPerAddressMax: 5_000, // from one machine: others must find places
  watchesPerConnectionMax: 500,
  watchesOfOneJobReserve: 1_000, // of all, and of those from one machine: clients that wait for a job
  watchHistoryChangesMax: 100_000,
  watchHistoryBytesKept: 20 * MIB, // about 42,000 changes of tasks, for watches that resume; jobs that only wait are in the state and not counted
  watchHistoryBytesMax: 64 * MIB, // the same, while watches have not read it all
  watchBlockEventsMax: 128, // rendered together
  watchBlockBytesMax: 64 * KIB, // the same; a larger event is a block of its own
  watchUnsentBytesMax: 256 * KIB, // for one watch, from where on it must be read before more is sent
  watchSendBufferBytes: 64 * KIB, // of the kernel for one reader, which adds as much for itself
  watchRenderedBytesFull: 24 * MIB, // rendered events for all readers; then the slowest are ended
  watchRenderedBytesMax: 32 * MIB, // with those that are sent their end; then these are cut off
  watchRendersPerSliceMax: 256, // events, before others have their turn: about 3 ms
  watchSendsPerSliceMax: 32, // to watches
  followedEventsPerSliceMax: 256, // that followers in this process hear, before others have their turn
  followedEventsBehindMax: 40_000, // that followers have not heard; more are told before anything else
  watchPackBytesMin: 1 * KIB, // one event is less: compressing it would cost more than sending it
  watchPackBytesMax: 256 * KIB, // of one event that is compressed on the deciding thread: at most 6 ms
  watchRunBytesMax: 192 * KIB, // of blocks that are compressed together; the last may be as large as a block
  watchPackedBytesPerSliceMax: 512 * KIB, // before others have their turn: at most 12 ms
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
