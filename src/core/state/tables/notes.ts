import type { Note } from "../../model/note.ts";
import { idOf, oneRow, type Removed, type WatchedTable, type Written } from "../table.ts";

export type NoteChange = Written<"nexus", Note> | Removed<"nexus", string>;

/** By the objects that they annotate. */
export const noteTable: WatchedTable<NoteChange, Map<string, Note>> = {
  name: "nexus",
  isWatched: true,
  ...oneRow((change) => `nexus/${idOf(change)}`),
  decode: (_key, value) => ({ table: "nexus", row: JSON.parse(value) as Note }),
  newRows: () => new Map(),
  apply({ notes }, change) {
    if ("removed" in change) notes.delete(change.removed);
    else notes.set(change.row.id, change.row);
  },
  isNewest({ notes }, change) {
    if ("removed" in change) return !notes.has(change.removed);
    return notes.get(change.row.id) === change.row;
  },
  check: () => [],
  digest: ({ notes }) => [...notes.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
};
