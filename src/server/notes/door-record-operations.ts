import type { OperationContext } from "../operations/create-operations.ts";
import type { CallerOperations } from "../operations/operations.ts";

export const createDoorRecordOperations = ({
  loop,
}: OperationContext): Pick<CallerOperations, "listDoorRecords" | "putDoorRecords"> => ({
  listDoorRecords: (_caller, door) =>
    loop.read(({ doorRecords }) =>
      [...doorRecords.values()].filter(({ id }) => id.startsWith(`${door}/`)),
    ),

  async putDoorRecords(_caller, records) {
    await loop.submit({ kind: "put-door-records", records });
  },
});
