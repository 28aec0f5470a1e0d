/** Secrets that callers show. */
export const secretLimits = {
  secretLengthMax: 1_024,
  knownTokenListsMax: 1_000, // of clusters and tokens that were sent together and were right
  knownPrincipalsMax: 1_000, // for whom operations are prepared; others are prepared anew
  secretChecksMax: 2, // computed at once: each takes a processor and 16 MiB
  secretChecksWaitingMax: 1_000,
  answerDeliveryMsMax: 10_000, // an answer with credentials that takes longer to leave counts as lost
} as const;
