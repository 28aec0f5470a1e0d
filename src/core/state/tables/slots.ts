import { serviceId } from "../../model/ids.ts";
import type { Slot } from "../../model/service/service.ts";
import { idOf, oneRow, type Removed, type Table, type Written } from "../table.ts";

export type SlotChange = Written<"slot", Slot> | Removed<"slot", string>;

const partsOf = (id: string) => {
  const at = id.indexOf("/");
  return { service: serviceId(id.slice(0, at)), name: id.slice(at + 1) };
};

/** The slots of services, each with its job. Clients watch the jobs, which name their instances. */
export const slotTable: Table<SlotChange> = {
  name: "slot",
  isWatched: false,
  ...oneRow((change) => `slot/${idOf(change)}`),
  decode: (_key, value) => ({ table: "slot", row: JSON.parse(value) as Slot }),
  newRows: () => undefined,
  apply({ services }, change) {
    if ("removed" in change) {
      const { service, name } = partsOf(change.removed);
      services.removeSlot(service, name);
    } else services.putSlot(change.row);
  },
  isNewest({ services }, change) {
    if ("removed" in change) return services.slot(partsOf(change.removed)) === undefined;
    return services.slot(change.row)?.row === change.row;
  },
  check: () => [], // with their services
  digest: ({ services }) =>
    services.inOrder.map(({ slots }) =>
      [...slots.values()].map(({ row }) => row).sort((a, b) => (a.name < b.name ? -1 : 1)),
    ),
};
