import type { ChangeOf } from "./table.ts";
import type { TABLES } from "./tables/tables.ts";

/**
 * One row written or removed. Changes are the only way state moves: the same list is stored,
 * applied in memory, and sent to watchers and agents, so the four cannot disagree. Each table defines
 * its changes; `tables/tables.ts` lists the tables.
 */
export type Change = ChangeOf<(typeof TABLES.all)[number]>;
