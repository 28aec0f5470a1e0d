import type { State } from "./state.ts";
import type { AnyTable, LoadRow } from "./table.ts";

/** Loads stored rows into a state, in the order of their keys. */
export function createRowLoader(state: State): LoadRow {
  const loaders = new Map<AnyTable, LoadRow>();
  let prefix = "/"; // rows of one table follow each other: look it up once
  let load: LoadRow = () => {};
  return (key, value, revision) => {
    if (!key.startsWith(prefix)) {
      const table = state.tables.ofKey(key);
      prefix = `${table.name}/`;
      load = loaders.get(table) ?? loaderOf(table, state);
      loaders.set(table, load);
    }
    state.startRow(revision);
    load(key, value, revision);
  };
}

const loaderOf = (table: AnyTable, state: State): LoadRow =>
  table.loader?.(state) ?? ((key, value) => table.apply(state, table.decode(key, value)));
