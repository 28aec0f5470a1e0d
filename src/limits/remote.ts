const KIB = 1024;
const MIB = 1024 * KIB;

/** Machines that are reached through a program of another system. */
export const remoteLimits = {
  remoteArgumentBytesMax: 128 * KIB, // the kernel's limit for one
  remoteCommandBytesMax: MIB, // of all arguments; the kernel allows about 2 MiB with the environment
  remoteCommandMsMax: 30_000, // for one of our own scripts there
  remoteSurveyMs: 10_000, // until runs that nothing was heard of are looked at again
  remoteFoundMs: 1_000, // the same, of runs whose ends nobody will tell
  remoteSurveyRunsMax: 500, // by one script
  remoteChainRunsMax: 16, // one after the other, by one command
  remoteChainBytesMax: 64 * KIB, // of the words that tell of its runs
  remoteChainWordsMax: 256, // that tell of one of them; a shell copies them one by one
  remoteChainMs: 500, // until a chain that has not ended is looked at
  remoteForgetMs: 1_000, // ends that were acknowledged meanwhile are noted there together
  remoteRetryMs: 1_000, // after a script did not answer
  remoteNamesMax: 20_000, // of nodes that are remembered for those who come back
  remoteNamesPerHostMax: 1_000, // at the same time
} as const;
