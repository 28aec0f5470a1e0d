import { nodeStateName } from "../../core/model/node/node.ts";
import { addInto } from "../../core/model/resources.ts";
import type { State } from "../../core/state/state.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";

/** What is counted of nodes as they change is what a walk over all of them finds. */
export function checkNodeTotals(state: State): string[] {
  const { states, capacity, used } = state.nodeTotals;
  const known = { states, capacity, used };
  const zero = Object.fromEntries(Object.keys(states).map((name) => [name, 0]));
  const found = { states: zero, capacity: {}, used: {} };
  for (const { node, tasks, held, used: its } of state.nodes.values()) {
    const name = nodeStateName(node, tasks.size + held.size);
    found.states[name] = (found.states[name] ?? 0) + 1;
    if (node.link.kind !== "connected") continue;
    addInto(found.capacity, node.capacity);
    addInto(found.used, its);
  }
  const wrong: string[] = [];
  if (!isDeepEqual(found, known)) {
    wrong.push(`nodes count as ${JSON.stringify(known)} and are ${JSON.stringify(found)}`);
  }
  const listed = state.nodesByName.all.map(({ node }) => node.id);
  if (!isDeepEqual([...state.nodes.keys()].sort(), listed)) {
    wrong.push(`nodes are listed as ${listed.join(" ")}`);
  }
  return wrong;
}
