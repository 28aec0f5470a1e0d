/** The last job id and revision that a data directory may have given out. */
export interface LastGiven {
  readonly lastId: number;
  readonly revision: number;
}

/** What is there of a data directory, and what is lost. */
export interface Recovery {
  readonly directory: string;
  /** Undefined when nothing is wrong: there is nothing to accept then. */
  readonly wrong: string | undefined;
  readonly problems: readonly string[];
  readonly source: "database and log" | "database alone";
  readonly revision: number; // up to which all is there
  readonly rows: number;
  readonly lostRevisions: { readonly from: number; readonly to: number } | undefined;
  /** Ids that were given out and of whose jobs nothing is known. */
  readonly lostJobs: { readonly from: number; readonly to: number } | undefined;
  readonly damagedRows: number;
  readonly orphanTasks: number;
  /** Where the old files are, once the loss was accepted. */
  readonly keptIn: string | undefined;
  /** What the next job and the next revision are larger than. */
  readonly goesOnAfter: LastGiven;
}

/** What a backup brought back. */
export interface Restored {
  readonly directory: string;
  readonly revision: number; // of the backup
  readonly rows: number;
  readonly goesOnAfter: LastGiven;
  /** Whether it is known what was given out after the backup. */
  readonly isExact: boolean;
}
