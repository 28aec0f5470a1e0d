import { invariant } from "./lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that are about watches (docs/design/watches.md). */
export const watchLimits = {
  watchesMax: 10_000,
  watchesPerAddressMax: 5_000, // from one machine: others must find places
  watchesPerConnectionMax: 500,
  watchesOfOneJobReserve: 1_000, // of all, and of those from one machine: clients that wait for a job
  watchHistoryChangesMax: 100_000,
  watchHistoryBytesMax: 64 * MIB, // about; jobs that only wait are in the state and not counted
  watchBlockEventsMax: 128, // rendered together
  watchBlockBytesMax: 64 * KIB, // the same; a larger event is a block of its own
  watchUnsentBytesMax: 256 * KIB, // for one watch, from where on it must be read before more is sent
  watchSendBufferBytes: 64 * KIB, // of the kernel for one reader, which adds as much for itself
  watchRenderedBytesFull: 24 * MIB, // rendered events for all readers; then the slowest are ended
  watchRenderedBytesMax: 32 * MIB, // with those that are sent their end; then these are cut off
  watchRendersPerSliceMax: 256, // events, before others have their turn: about 3 ms
  watchSendsPerSliceMax: 32, // to watches
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
  watchLimits.watchBlockBytesMax < watchLimits.watchUnsentBytesMax,
  "a watch must be able to send one block while it renders the next",
);

invariant(
  watchLimits.watchRenderedBytesMax - watchLimits.watchRenderedBytesFull >=
    watchLimits.watchUnsentBytesMax * 16,
  "readers that are ended must have room to read why",
);
