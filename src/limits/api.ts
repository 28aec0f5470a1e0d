const KIB = 1024;

/** Requests and answers of the API. */
export const apiLimits = {
  submitJobsMax: 20_000, // jobs in one call
  argumentBytesMax: 128 * KIB, // with its terminating zero byte; Linux accepts no longer argument
  knownJobspecsMax: 256, // the most recently read jobspecs, remembered
  knownJobspecCharsMax: 32 * KIB, // longer jobspecs are read each time
  pageSizeDefault: 100,
  pageSizeMax: 1_000,
  listScanMax: 50_000, // jobs that the server looks at to count those that go first
  listSliceLooks: 2_000, // rows that the server looks at for a list before other work has its turn
  listPageLooksMax: 200_000, // rows that the server looks at for one page
  listsAtOnceMax: 1_000, // unfinished lists; the server rejects more
  pathParameterCharsMax: 512, // of a URL
  errorMessageCharsMax: 1_000, // an error quotes its input, which may be long
  sseHeartbeatIntervalMs: 15_000, // and the interval of bookmarks; a reader of a watch may read nothing for this long
  outputHeadersAfterMs: 1_000, // the server sends HTTP headers after this time when there is no output yet
} as const;
