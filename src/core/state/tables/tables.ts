import { Tables } from "../table.ts";
import { clusterTable } from "./clusters.ts";
import { counterTable } from "./counters.ts";
import { credentialTable } from "./credentials.ts";
import { declaredTable } from "./declared.ts";
import { doorRecordTable } from "./door-records.ts";
import { factsTable } from "./facts.ts";
import { graphTable } from "./graphs.ts";
import { groupTable } from "./groups.ts";
import { jobTable } from "./jobs.ts";
import { leftoverTable } from "./leftovers.ts";
import { nodeTable } from "./nodes.ts";
import { noteTable } from "./notes.ts";
import { serviceTable } from "./services.ts";
import { slotTable } from "./slots.ts";
import { statusTable } from "./statuses.ts";
import { subsystemTable } from "./subsystems.ts";
import { taskTable } from "./tasks.ts";

/**
 * All tables. State, stored rows, start, checks and watches use this list: a new table is a file beside
 * this one and a line here.
 */
export const TABLES = new Tables([
  // config: written by callers
  groupTable,
  jobTable,
  leftoverTable,
  counterTable,
  credentialTable,
  noteTable,
  doorRecordTable,
  serviceTable,
  // desired: written by the planner and, through the loop, by reports of agents
  taskTable,
  slotTable,
  // inventory: written by agents and by registrations of clusters
  clusterTable,
  graphTable,
  subsystemTable,
  declaredTable,
  statusTable,
  nodeTable,
  factsTable,
]);

type Listed = (typeof TABLES.all)[number];
export type TableName = Listed["name"];

/** Tables whose changes clients can watch. */
export type WatchedName = Extract<Listed, { readonly isWatched: true }>["name"];

const isWatched = (table: Listed): table is Extract<Listed, { readonly isWatched: true }> =>
  table.isWatched;

export const WATCHED_NAMES: readonly WatchedName[] = TABLES.all
  .filter(isWatched)
  .map(({ name }) => name);
