import { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import type { Revision } from "../model/ids.ts";
import type { SeenJob } from "./checks/all-jobs.ts";
import type { State } from "./state.ts";

export interface Written<Name extends string, Row> {
  readonly table: Name;
  readonly row: Row;
}

export interface Removed<Name extends string, Id> {
  readonly table: Name;
  readonly removed: Id;
  /** The caller that removed it, if any: no row remains that could name it. Not stored. */
  readonly by?: string;
}

export type AnyChange = Written<string, unknown> | Removed<string, unknown>;

/** undefined deletes the row. */
export type WriteRow = (key: string, value: string | undefined) => void;
/** `revision`: the revision of the stored row. */
export type LoadRow = (key: string, value: string, revision: Revision) => void;

/**
 * Everything about one kind of row: its stored form, its effects on the state, and the check of these
 * effects. The list of tables (tables/tables.ts) is the only place that names them all.
 *
 * - A table changes its own rows in `apply`. Effects on other tables and on indexes that several
 *   tables share are in effects.ts, with their order.
 * - `apply` cannot fail for changes that `decide` made. `state.writing` is the revision of the row.
 * - Methods do not use `this`.
 */
export interface Table<C extends AnyChange, Rows = undefined> {
  /** Stored keys begin with it and a slash. */
  readonly name: C["table"];
  /** Whether clients can watch its changes: then it is a WatchedTable. */
  readonly isWatched: boolean;

  /** The key of the row that the change writes or removes. */
  keyOf(change: C): string;
  /** Calls `write` for every stored row that the change touches. */
  encode(change: C, write: WriteRow): void;
  /** A stored row as the change that would write it. */
  decode(key: string, value: string): C;

  /** Its rows in a new state, and indexes of its own; `State.rows` returns them. */
  newRows(): Rows;
  apply(state: State, change: C): void;
  /**
   * Loads stored rows, in the order of their keys. The returned function may keep state from one row to
   * the next: it serves one start. Without it each row is decoded and applied.
   */
  loader?(state: State): LoadRow;
  /** Whether the row that the change wrote is still the newest. */
  isNewest(state: State, change: C): boolean;

  // For tests, which call it after every step: property tests and the simulation.

  /**
   * Recomputes the indexes of this table from the rows, and returns every disagreement. `jobs` are all
   * jobs, read once: reading each again would take long.
   */
  check(state: State, jobs: readonly SeenJob[]): string[];
  /** A value that is equal for two states with the same rows of this table. */
  digest(state: State, jobs: readonly SeenJob[]): unknown;
}

/** A table whose changes clients can watch. */
export interface WatchedTable<C extends AnyChange, Rows = undefined> extends Table<C, Rows> {
  readonly isWatched: true;
}

/** A table of any change; methods are bivariant, so that every table is one. */
export type AnyTable = Table<AnyChange, unknown>;

export type ChangeOf<T extends AnyTable> = ReturnType<T["decode"]>;

/** Tables by name. */
export class Tables<T extends AnyTable> {
  readonly all: readonly T[];
  readonly #byName: ReadonlyMap<string, T>;

  constructor(all: readonly T[]) {
    this.all = all;
    this.#byName = new Map(all.map((table) => [table.name, table]));
    invariant(this.#byName.size === all.length, "every table has a name of its own");
  }

  /** The table of the change. */
  of({ table: name }: AnyChange): T {
    const table = this.#byName.get(name);
    invariant(table !== undefined, `there is a table ${name}`);
    return table;
  }

  /** The table of the key. */
  ofKey(key: string): T {
    const table = this.#byName.get(key.slice(0, key.indexOf("/")));
    if (table !== undefined) return table;
    throw new AppError("internal", `the store holds a row that is not ours: ${key}`);
  }

  keyOf(change: ChangeOf<T>): string {
    return this.of(change).keyOf(change);
  }

  encode(change: ChangeOf<T>, write: WriteRow): void {
    this.of(change).encode(change, write);
  }

  decode(key: string, value: string): ChangeOf<T> {
    return this.ofKey(key).decode(key, value) as ChangeOf<T>;
  }
}

/** `keyOf` and `encode` of a table whose changes touch one stored row each. */
export function oneRow<C extends AnyChange>(
  keyOf: (change: C) => string,
  encodeRow: (row: Extract<C, { readonly row: unknown }>["row"]) => string = JSON.stringify,
): Pick<Table<C>, "keyOf" | "encode"> {
  return {
    keyOf,
    encode: (change, write) =>
      write(keyOf(change), "row" in change ? encodeRow(change.row) : undefined),
  };
}

/** The id of the row that is written or removed. */
export const idOf = <Id>(change: Written<string, { readonly id: Id }> | Removed<string, Id>): Id =>
  "removed" in change ? change.removed : change.row.id;

/** The part of a key after the name of the table. */
export const restOf = (key: string): string => key.slice(key.indexOf("/") + 1);
