const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** How agents start and watch processes. */
export const launcherLimits = {
  watchRestMsMax: 1_000, // the pause after a look at all runs is as long as the look, and at most this
  processPollMs: 100, // for processes that are not our children, or are being stopped
  claimTimeoutMs: 2_000, // from the start of a wrapper until it reports that it has the run
  journalEntriesMin: 4_096, // a journal shorter than this is not rewritten
  launchersMax: 2,
  launchesUnacknowledgedMax: 16, // of one native launcher; the machine sets the pace
  launchesPerLauncherMax: 20_000, // after that a new launcher begins a new record
  launcherStallMs: 60_000, // without an answer from a launcher that owes one, until the agent gives it up
  spawnsOnTheWayMax: 4, // shells that have not begun their commands, where there is no launcher
  survivorsRestFactor: 20, // the pause between two passes over all processes, as a multiple of the time of one pass; for ended runs
  survivorsRestMsMin: 20, // between two looks for processes that ended runs left
  survivorKillsMax: 50, // attempts to kill one process that does not end
  launcherIdleLanesMax: 16, // of one launcher, retained for the next run
  launcherSparesMax: 256, // directories of ended runs that one launcher retains for the next run
  spareBytesMax: 64 * KIB, // of output in a retained directory
  launchAttemptsMax: 3, // of one launch, when launchers die or do not answer
} as const;

/** Containers of one agent, and their images. */
export const containerLimits = {
  imagesMax: 32, // unpacked images of one agent; images in use do not count
  imageBytesMax: 20 * GIB, // of all of them together
  imageIdleMsMin: 600_000, // a used image stays at least this long
  imageSettleMs: 120_000, // until the kernel has written an unpacked image to disk by itself
  imageLocks: 64, // images that can be copied at the same time
  imageFetchMsMax: 1_800_000, // to copy one image, and again to unpack it
  oneImageBytesMax: 20 * GIB, // on disk, of the copy of one image, and again of its unpacked files
  oneImageFilesMax: 2_000_000, // files and directories of the same
  imageReserveBytes: 512 * MIB, // of free disk space, which no image may use; of a small disk a 32nd
  imageReserveFiles: 10_000, // inodes that no image may use; of a small file system a 32nd
  imageSpaceCheckMs: 50, // between two looks at the free disk space while an image grows
  diskBytesPerSecondMax: 8 * GIB, // that a fast disk takes
  imageMeasureMsMin: 200, // the shortest pause between two measurements of a growing image
  imageMeasureRestFactor: 4, // the pause after a measurement, as a multiple of its time
  imageMeasureSlice: 512, // files that are measured between two turns of the event loop
  containerProgramMsMax: 30_000, // for one call of runc that starts no task
  containersLookAgainMs: 300_000, // until an agent that cannot start containers tests that again
  containerTrialBytes: 64 * MIB, // memory of the container that an agent starts to test whether containers work
  containerShmBytes: 64 * MIB, // of /dev/shm in a container
} as const;
