import { expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { nodeId } from "../../core/model/ids.ts";
import type { Node, NodeLink } from "../../core/model/node/node.ts";
import { limits } from "../../limits.ts";
import { NodeLog } from "./node-log.ts";
import type { Commit } from "../loop/open-batch.ts";

type Line = readonly [level: string, message: string, fields: Readonly<Record<string, unknown>>];

function openLog(names: readonly string[]) {
  const lines: Line[] = [];
  const write = (level: string) => (fields: Line[2], message: string) =>
    void lines.push([level, message, fields]);
  const logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  };
  const clock = new FakeClock();
  const known = names.map((name) => aNode(name, { kind: "connected", session: 1, sinceMs: 0 }));
  const log = new NodeLog(known, { logger, clock });
  const commit = (...nodes: readonly Node[]): void =>
    log.committed({ changes: nodes.map((row) => ({ table: "node", row })) } as unknown as Commit);
  return { log, lines, clock, commit };
}

const aNode = (name: string, link: NodeLink, more: Partial<Node> = {}): Node =>
  ({ id: nodeId(name), link, ...more }) as Node;

test("names each node that disconnects, is lost and returns, once each", () => {
  const { lines, commit } = openLog(["a"]);
  const loss = { onLost: "keep" } as const;
  commit(aNode("a", { kind: "disconnected", sinceMs: 1_000 }, { loss }));
  commit(aNode("a", { kind: "disconnected", sinceMs: 1_000 }, { loss })); // drained meanwhile
  commit(aNode("a", { kind: "lost", sinceMs: 1_000 }, { loss }));
  commit(aNode("a", { kind: "connected", session: 2, sinceMs: 61_000 }));
  commit(aNode("new", { kind: "connected", session: 3, sinceMs: 61_000 }));
  const lastHeard = "1970-01-01T00:00:01.000Z";
  expect(lines).toEqual([
    ["warn", "node disconnected", { node: "a", lastHeard, onLost: "keep" }],
    ["warn", "node lost", { node: "a", lastHeard, onLost: "keep" }],
    ["info", "node returned", { node: "a", awayMs: 60_000, was: "lost" }],
  ]);
});

test("a thousand at once have a few lines, and every name is counted", () => {
  const names = Array.from({ length: 1_000 }, (_none, at) => `n${at}`);
  const { lines, commit, clock } = openLog(names);
  for (const name of names) commit(aNode(name, { kind: "disconnected", sinceMs: 1 }));
  expect(lines.length).toBe(limits.nodeLogLinesMax);
  clock.advance(limits.nodeLogBurstMs);
  expect(lines.length).toBe(limits.nodeLogLinesMax + 1);
  const fields = lines.at(-1)?.[2] as { nodes: string[]; more: number };
  expect(fields.nodes.length).toBe(limits.nodeLogNamesMax);
  expect(limits.nodeLogLinesMax + fields.nodes.length + fields.more).toBe(1_000);
  commit(aNode("n0", { kind: "lost", sinceMs: 1 }));
  expect(lines.at(-1)?.[1]).toBe("node lost"); // a later burst counts separately
});

test("an end in the middle of a burst still names the rest", () => {
  const names = Array.from({ length: limits.nodeLogLinesMax + 1 }, (_none, at) => `n${at}`);
  const { log, lines, commit } = openLog(names);
  for (const name of names) commit(aNode(name, { kind: "disconnected", sinceMs: 1 }));
  log.close();
  expect(lines.at(-1)?.[2]).toEqual({ nodes: [names.at(-1)] });
});
