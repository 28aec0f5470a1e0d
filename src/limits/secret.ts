/** Secrets that callers show. */
export const secretLimits = {
  secretLengthMax: 1_024,
  secretLengthShort: 16, // below: the server warns that it may be guessed
  knownTokenListsMax: 1_000, // correct combinations of clusters and tokens, remembered
  knownPrincipalsMax: 1_000, // principals whose operations are prepared; others are prepared again each time
  secretChecksMax: 2, // computed at once: each occupies a CPU and 16 MiB
  secretChecksWaitingMax: 1_000,
  answerDeliveryMsMax: 10_000, // an answer with credentials that takes longer to leave counts as lost
} as const;
