import type { OperationContext } from "../operations/create-operations.ts";
import type { CallerOperations } from "../operations/operations.ts";

export const createNoteOperations = ({
  loop,
}: OperationContext): Pick<CallerOperations, "listNotes" | "putNotes"> => ({
  listNotes: () => loop.read(({ notes }, revision) => ({ notes: [...notes.values()], revision })),

  async putNotes(_caller, notes) {
    await loop.submit({ kind: "put-notes", notes });
    return { revision: loop.revision };
  },
});
