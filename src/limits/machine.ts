const KIB = 1024;
const MIB = 1024 * KIB;

/** The facts about one machine, and their discovery. */
export const machineLimits = {
  factsCharsMax: 256 * KIB, // as JSON
  factsSubsystemsMax: 64,
  factsEntriesMax: 5_000, // of all subsystems together
  factFieldsMax: 32, // of one entry
  factTextLengthMax: 512,
  machinePartsMax: 1_024, // sockets, memory domains
  wattsMax: 2 ** 32 - 1, // of one node
  powerChangesMax: 1_000, // expected by one agent
  siteSharesMax: 1_000, // at once, of all edges of a site together
  siteAmountMax: 2 ** 43, // of a resource of one edge of a site: exact even when multiplied by the number of its shares
  powerTickMsMax: 24 * 3_600_000, // between two looks of an edge at its shares
  scheduleBytesMax: 64 * KIB, // of a file with a node's power over time
  sharedFactsCharsMax: 32 * MIB, // of remembered entries; equal entries are held once
  discoveryMsMax: 2_000, // facts that take longer to find follow after the hello
  softwareDelayMs: 1_000, // from the start of an agent to the first search for software
  discoveryIntervalMs: 300_000, // between two searches
  programMsMax: 5_000, // for one program to print its version
  programOutputBytesMax: 64 * KIB,
  spackFindMsMax: 60_000,
  spackOutputBytesMax: 32 * MIB, // of the output, and of the database, of spack
  spackPackagesMax: 4_000, // that an agent reports
  machineFileBytesMax: 4 * MIB, // of one file in /proc, /sys or /etc
} as const;
