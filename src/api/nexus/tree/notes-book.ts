import type { Note } from "../../../core/model/note.ts";
import type { Notes } from "../model/object.ts";
import type { KindName } from "../model/kinds.ts";

/** A note and the revision that wrote it. */
export type KnownNote = Note & Notes;

export const noteId = (kind: KindName, id: string): string => `${kind}/${id}`;

/** All notes, by object. */
export class NotesBook {
  readonly #notes = new Map<string, KnownNote>();

  of(kind: KindName, id: string): KnownNote | undefined {
    return this.#notes.get(noteId(kind, id));
  }

  isHidden(kind: KindName, id: string): boolean {
    return this.#notes.get(noteId(kind, id))?.isHidden === true;
  }

  get(id: string): KnownNote | undefined {
    return this.#notes.get(id);
  }

  put(note: KnownNote): void {
    this.#notes.set(note.id, note);
  }

  drop(id: string): void {
    this.#notes.delete(id);
  }

  get all(): IterableIterator<KnownNote> {
    return this.#notes.values();
  }
}
