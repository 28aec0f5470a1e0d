/** The last job id and revision that a data directory may have issued. */
export interface LastIssued {
  readonly lastId: number;
  readonly revision: number;
}

/** What a data directory has, and what is lost. */
export interface Recovery {
  readonly directory: string;
  /** Undefined when nothing is wrong: then there is no loss to accept. */
  readonly wrong: string | undefined;
  readonly problems: readonly string[];
  readonly source: "database and log" | "database alone";
  readonly revision: number; // complete up to this one
  readonly rows: number;
  readonly lostRevisions: { readonly from: number; readonly to: number } | undefined;
  /** Issued ids of jobs of which nothing is known. */
  readonly lostJobs: { readonly from: number; readonly to: number } | undefined;
  readonly damagedRows: number;
  readonly orphanTasks: number;
  /** The directory of the old files, once the loss was accepted. */
  readonly keptIn: string | undefined;
  /** The next job and the next revision are larger than these. */
  readonly goesOnAfter: LastIssued;
}

/** The result of restoring a backup. */
export interface Restored {
  readonly directory: string;
  readonly revision: number; // of the backup
  readonly rows: number;
  readonly goesOnAfter: LastIssued;
  /** Whether the numbers issued after the backup are known. */
  readonly isExact: boolean;
}
