import { type NodeId, nodeId } from "../../model/ids.ts";
import { FactsPool } from "../../model/node/facts-pool.ts";
import type { NodeFacts } from "../../model/node/node-facts.ts";
import { checkFacts } from "../checks/nodes.ts";
import { factsChanged } from "../effects.ts";
import { idOf, oneRow, type Removed, restOf, type Table, type Written } from "../table.ts";

/** In rows of their own: facts are large, and nodes change more often than their machines. */
export interface FactsRow {
  readonly id: NodeId;
  readonly facts: NodeFacts;
}

export type FactsChange = Written<"facts", FactsRow> | Removed<"facts", NodeId>;

const decode = (key: string, value: string): Written<"facts", FactsRow> => ({
  table: "facts",
  row: { id: nodeId(restOf(key)), facts: JSON.parse(value) as NodeFacts },
});

/**
 * What a node's agent reports of its machine. The facts of a node whose agent reports none follow
 * from its capacity: `State.factsOf`.
 */
export const factsTable: Table<FactsChange, Map<NodeId, NodeFacts>> = {
  name: "facts",
  isWatched: false,
  // Without the id, which is in the key: equal machines have equal rows.
  ...oneRow(
    (change) => `facts/${idOf(change)}`,
    ({ facts }) => JSON.stringify(facts),
  ),
  decode,
  newRows: () => new Map(),
  apply(state, change) {
    if ("removed" in change) state.facts.delete(change.removed);
    else state.facts.set(change.row.id, change.row.facts);
    factsChanged(state, idOf(change));
  },
  /** Equal machines share their facts. */
  loader(state) {
    const pool = new FactsPool();
    return (key, value) => {
      const { row } = decode(key, value);
      const shared = { ...row, facts: pool.share(row.facts) };
      factsTable.apply(state, { table: "facts", row: shared });
    };
  },
  isNewest(state, change) {
    if ("removed" in change) return !state.facts.has(change.removed);
    return state.facts.get(change.row.id) === change.row.facts;
  },
  check: checkFacts,
  digest: ({ facts }) => [...facts].sort(([a], [b]) => (a < b ? -1 : 1)),
};
