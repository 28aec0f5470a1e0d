const KIB = 1024;
const MIB = 1024 * KIB;

/** What is known of one machine, and how it is found out. */
export const machineLimits = {
  factsCharsMax: 256 * KIB, // as JSON
  factsSubsystemsMax: 64,
  factsEntriesMax: 5_000, // of all subsystems together
  factFieldsMax: 32, // of one entry
  factTextLengthMax: 512,
  machinePartsMax: 1_024, // sockets, memory domains
  wattsMax: 2 ** 32 - 1, // of one node
  powerChangesMax: 1_000, // that an agent expects
  siteSharesMax: 1_000, // at once, of the edges of a site together
  siteAmountMax: 2 ** 43, // of a resource of one edge of a site: with as many shares as it takes still exact
  powerTickMsMax: 24 * 3_600_000, // between two looks of an edge at its shares
  scheduleBytesMax: 64 * KIB, // of a file that says a node's power over time
  sharedFactsCharsMax: 32 * MIB, // of entries that are remembered, so that equal ones are held once
  discoveryMsMax: 2_000, // what is not known of the machine by then comes after the hello
  softwareDelayMs: 1_000, // from the start of an agent to the first search for software
  discoveryIntervalMs: 300_000, // until it looks again
  programMsMax: 5_000, // for one program that is asked for its version
  programOutputBytesMax: 64 * KIB,
  spackFindMsMax: 60_000,
  spackOutputBytesMax: 32 * MIB, // also of its database
  spackPackagesMax: 4_000, // that are told
  machineFileBytesMax: 4 * MIB, // of one file in /proc, /sys or /etc
} as const;
