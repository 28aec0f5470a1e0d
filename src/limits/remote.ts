const KIB = 1024;
const MIB = 1024 * KIB;

/** Machines that we reach through a program of another system. */
export const remoteLimits = {
  remoteArgumentBytesMax: 128 * KIB, // the kernel's limit for one argument
  remoteCommandBytesMax: MIB, // of all arguments; the kernel allows about 2 MiB with the environment
  remoteCommandMsMax: 30_000, // for one of our own scripts on the machine
  remoteSurveyMs: 10_000, // between looks at runs without news
  remoteFoundMs: 1_000, // between looks at runs whose ends will not be reported
  remoteSurveyRunsMax: 500, // that one script looks at
  remoteChainRunsMax: 16, // that one command runs one after the other
  remoteChainBytesMax: 64 * KIB, // of the words that describe its runs
  remoteChainWordsMax: 256, // that describe one run; a shell copies them one by one
  remoteChainMs: 500, // until the executor looks at a chain that has not ended
  remoteForgetMs: 1_000, // acknowledged ends are recorded on the machine together, after this time
  remoteRetryMs: 1_000, // after a script did not answer
  remoteNamesMax: 20_000, // names of nodes, remembered for machines that come back
  remoteNamesPerHostMax: 1_000, // at the same time
} as const;
