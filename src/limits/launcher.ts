const MIB = 1024 * 1024;

const KIB = 1024;

/** How agents start and watch processes. */
export const launcherLimits = {
  watchRestMsMax: 1_000, // after a look at all runs: as long as the look took, and at most this
  processPollMs: 100, // processes that are not our children, or are being stopped
  claimTimeoutMs: 2_000, // from starting a wrapper to its having taken the run and said so
  journalEntriesMin: 4_096, // a journal shorter than this is not rewritten
  launchersMax: 2,
  launchesUnacknowledgedMax: 16, // of one native launcher; the machine sets the pace
  launchesPerLauncherMax: 20_000, // then a new one begins a new record
  launcherStallMs: 60_000, // without a word from a launcher that owes one, until it is given up
  spawnsOnTheWayMax: 4, // shells, where there is no launcher, that have not begun their commands
  survivorsRestFactor: 20, // how much longer than a pass over all processes until the next, for ended runs
  survivorsRestMsMin: 20, // from one look for what ended runs left to the next
  survivorKillsMax: 50, // of one process that does not go
  launcherIdleLanesMax: 16, // of one launcher, kept for the next run
  launcherSparesMax: 256, // directories of ended runs, kept by one launcher for the next
  spareBytesMax: 64 * KIB, // of output in one that is kept
  launchAttemptsMax: 3, // of one launch, when launchers die or do not answer
  imagesMax: 32, // that an agent keeps unpacked; those in use do not count
  imageBytesMax: 20 * 1024 * MIB, // of all of them together
  imageIdleMsMin: 600_000, // an image that was used is not removed for so long
  imageSettleMs: 120_000, // until what was unpacked has reached the disk without being asked to
  imageLocks: 64, // images that are copied at the same time
  imageFetchMsMax: 1_800_000, // for one image to be copied, and to be unpacked
  containerProgramMsMax: 30_000, // for one call of runc that starts no task
  containerTrialBytes: 64 * MIB, // of memory, for the container by which an agent finds out
  containerShmBytes: 64 * MIB, // of /dev/shm in a container
} as const;
