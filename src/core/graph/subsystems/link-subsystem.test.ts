import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { clusterGraph } from "../facts.ts";
import { linkSubsystem } from "./link-subsystem.ts";
import { readSubsystemDraft } from "./subsystem-draft.ts";

const node = { name: "n", cores: 1, sockets: 1, numa: 1, memoryBytes: 0, gpus: 0 };
const graph = clusterGraph("c", [node]);

/** How often other work gets a turn while so many packages are linked to one node. */
function turnsOf(packages: number): number {
  const ids = Array.from({ length: packages }, (_, at) => `p${at}`);
  const nodes = Object.fromEntries(ids.map((id) => [id, { metadata: { type: "package" } }]));
  const edges = [{ source: "/c/n", target: "p0", relation: "contains" }];
  const linking = linkSubsystem("packages", readSubsystemDraft({ graph: { nodes, edges } }), graph);
  let turns = 0;
  for (let next = linking.next(); next.done !== true; next = linking.next()) turns += 1;
  return turns;
}

test("other work gets a turn after each slice of vertices", () => {
  expect(turnsOf(10)).toBe(0);
  expect(turnsOf(3 * limits.verticesPerSliceMax)).toBe(3);
});
