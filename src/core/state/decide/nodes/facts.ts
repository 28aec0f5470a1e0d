import { isDeepEqual } from "../../../../lib/is-deep-equal.ts";
import type { NodeId } from "../../../model/ids.ts";
import type { NodeFacts } from "../../../model/node/node-facts.ts";
import { offeredFacts } from "../../../model/node/node-facts.ts";
import type { Resources } from "../../../model/resources.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { State } from "../../state.ts";

/** The facts of a connected agent's machine differ from those of its hello. */
export function putFacts(
  state: State,
  { nodeId, session, facts }: CommandOf<"put-facts">,
): Decision<undefined> {
  const node = state.nodes.get(nodeId)?.node;
  // A newer session may have taken over: its facts are newer too.
  if (node?.link.kind !== "connected" || node.link.session !== session) {
    return { changes: [], answer: undefined };
  }
  const changes = changeFacts(state, nodeId, facts, node.capacity);
  if (changes.length === 0) return { changes, answer: undefined };
  // The facts are shown with the node: its row changes, too.
  return { changes: [...changes, { table: "node", row: { ...node } }], answer: undefined };
}

/** No change for equal facts: agents connect often, and machines seldom change. */
export function changeFacts(
  state: State,
  id: NodeId,
  said: NodeFacts | undefined,
  capacity: Resources,
): readonly Change[] {
  const known = state.facts.get(id);
  if (said === undefined) return known === undefined ? [] : [{ table: "facts", removed: id }];
  const facts = offeredFacts(said, capacity);
  return isDeepEqual(facts, known) ? [] : [{ table: "facts", row: { id, facts } }];
}
