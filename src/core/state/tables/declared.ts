import type { DeclaredSoftware } from "../../model/declared-software.ts";
import type { ClusterId } from "../../model/ids.ts";
import { declaredChanged } from "../effects.ts";
import { idOf, oneRow, type Removed, type Table, type Written } from "../table.ts";

export type DeclaredChange =
  | Written<"declared", DeclaredSoftware>
  | (Removed<"declared", ClusterId> & { readonly name: string });

const nameOf = (change: DeclaredChange): string =>
  "removed" in change ? change.name : change.row.name;

/** Software that was declared for the nodes of managed clusters. */
export const declaredTable: Table<DeclaredChange> = {
  name: "declared",
  isWatched: false,
  ...oneRow((change) => `declared/${idOf(change)}/${nameOf(change)}`),
  decode: (_key, value) => ({ table: "declared", row: JSON.parse(value) as DeclaredSoftware }),
  newRows: () => undefined,
  apply(state, change) {
    if ("removed" in change) state.clusters.undeclare(change.removed, change.name);
    else state.clusters.declare(change.row);
    declaredChanged(state, idOf(change));
  },
  isNewest(state, change) {
    const known = state.clusters.declared(idOf(change)).get(nameOf(change));
    return known === ("removed" in change ? undefined : change.row);
  },
  check: () => [],
  digest: ({ clusters }) => clusters.inOrder.map(({ id }) => [...clusters.declared(id).values()]),
};
