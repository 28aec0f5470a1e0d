import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { checkNote } from "../../model/note.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { NoteChange } from "../tables/notes.ts";
import type { State } from "../state.ts";

/** All or none. */
export function putNotes({ notes }: State, command: CommandOf<"put-notes">): Decision<undefined> {
  const changes: NoteChange[] = [];
  let added = 0;
  for (const { id, note, ifVersion } of command.notes) {
    const known = notes.get(id);
    const version = known?.version ?? 0;
    if (ifVersion !== undefined && ifVersion !== version) {
      throw new AppError("conflict", `${id} has been changed; read it and decide again`);
    }
    if (note !== undefined) {
      changes.push({ table: "nexus", row: checkNote({ ...note, id, version: version + 1 }) });
      if (known === undefined) added++;
    } else if (known !== undefined) changes.push({ table: "nexus", removed: id });
  }
  if (added > 0 && notes.size + added > limits.notesMax) {
    throw new AppError(
      "exhausted",
      `the limit of ${limits.notesMax} objects with labels or annotations of their own is reached`,
    );
  }
  return { changes, answer: undefined };
}
