import { expect, test } from "vitest";
import { aHello } from "../../tests/support/builders.ts";
import { World } from "../../tests/support/world.ts";
import { nodeId } from "../core/model/ids.ts";
import type { NodeRecord } from "../core/state/node-record.ts";
import { findNodes } from "./node-operations.ts";

function aWorld(nodes: number): World {
  const world = new World();
  for (let at = nodes; at > 0; at--) {
    const name = `n${String(at).padStart(5, "0")}`;
    const hello = aHello(name, { cluster: at % 2 === 0 ? "even" : "odd", session: at });
    world.do({ kind: "connect-node", ...hello });
  }
  return world;
}

/** The list, counting how many of its nodes are read. */
function counting(list: readonly NodeRecord[]): {
  list: readonly NodeRecord[];
  reads: () => number;
} {
  let reads = 0;
  const get = (target: readonly NodeRecord[], name: string | symbol): unknown => {
    if (typeof name === "string" && /^\d+$/.test(name)) reads++;
    return Reflect.get(target, name);
  };
  return { list: new Proxy(list, { get }), reads: () => reads };
}

test("a page reads its own nodes only, wherever it begins", () => {
  const { list, reads } = counting(aWorld(2_000).state.nodesByName.all);
  const page = findNodes(list, { after: "n01500" }, 11);
  expect(page.map(({ node }) => node.id)).toEqual(
    Array.from({ length: 11 }, (_, at) => `n0${1_501 + at}`),
  );
  expect(reads()).toBeLessThanOrEqual(11 + 12); // and a search for its beginning
});

test("pages together are all nodes of a filter, in order", () => {
  const { state } = aWorld(50);
  const seen: string[] = [];
  for (let after: string | undefined; ; after = seen.at(-1)) {
    const page = findNodes(state.nodesByName.all, { after, cluster: "even" }, 7);
    if (page.length === 0) break;
    seen.push(...page.map(({ node }) => node.id));
  }
  const even = [...state.nodes.values()].filter(({ node }) => node.cluster === "even");
  expect(seen).toEqual(even.map(({ node }) => node.id).sort());
});

test("the order is kept until a node comes or goes", () => {
  const world = aWorld(3);
  const before = world.state.nodesByName.all;
  world.do({ kind: "drain-node", nodeId: nodeId("n00001"), drain: { by: "t", reason: "" } });
  expect(world.state.nodesByName.all).toBe(before);
  world.do({ kind: "connect-node", ...aHello("a-first", { session: 9 }) });
  expect(world.state.nodesByName.all.map(({ node }) => node.id)[0]).toBe("a-first");
  world.do({ kind: "disconnect-node", nodeId: nodeId("a-first"), session: 9, nowMs: 1 });
  world.do({ kind: "remove-node", nodeId: nodeId("a-first"), nowMs: 2 });
  expect(world.state.nodesByName.all).toEqual(before);
});
