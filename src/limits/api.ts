const KIB = 1024;

/** Requests and answers of the API. */
export const apiLimits = {
  submitJobsMax: 20_000, // in one call
  argumentBytesMax: 128 * KIB, // with the byte that ends it: Linux takes no longer ones
  knownJobspecsMax: 256, // that were read last
  knownJobspecCharsMax: 32 * KIB, // longer ones are read each time
  pageSizeDefault: 100,
  pageSizeMax: 1_000,
  listScanMax: 50_000, // jobs looked at to say how many go first
  listSliceLooks: 2_000, // rows looked at for a list before others have their turn
  listPageLooksMax: 200_000, // for one page
  listsAtOnceMax: 1_000, // that are not complete yet; more are refused
  pathParameterCharsMax: 512, // of a URL
  errorMessageCharsMax: 1_000, // what is quoted in errors may be long
  sseHeartbeatIntervalMs: 15_000, // and of bookmarks: so long may a reader of a watch take nothing
  outputHeadersAfterMs: 1_000, // when there is no output yet, HTTP headers are sent after this
} as const;
