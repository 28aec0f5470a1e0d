import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GetClusterGraphRequestSchema } from "../../src/gen/busbar/v1/cluster_pb.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

const VERTICES = 20_000;
const ANSWERS = 16;
const MIB = 1024 * 1024;
const MEMORY_MS_MAX = 60_000;

/** One rack with many nodes: its text has about 3 MB. */
function aGraph(): object {
  const nodes: Record<string, object> = { r: { metadata: { type: "rack", name: "r" } } };
  const edges: object[] = [];
  for (let at = 1; at < VERTICES; at++) {
    nodes[`n${at}`] = { metadata: { type: "node", name: `n${at}`, properties: { slot: `${at}` } } };
    edges.push({ source: "r", target: `n${at}`, relation: "contains" });
  }
  return { graph: { nodes, edges } };
}

const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

/** The smallest memory of an idle server, after its garbage collection. */
async function restingRss(pid: number): Promise<number> {
  let least = Infinity;
  let looks = 0;
  const isAtRest = (): boolean => {
    const rss = rssOf(pid);
    looks = rss < least - MIB ? 0 : looks + 1;
    least = Math.min(least, rss);
    return looks > 500;
  };
  await eventually(isAtRest, { what: "an idle server", timeoutMs: MEMORY_MS_MAX });
  return least;
}

/** Connections that request the graph and read nothing of it. */
function openUnread(server: string): () => void {
  const message = toBinary(
    GetClusterGraphRequestSchema,
    create(GetClusterGraphRequestSchema, { name: "big" }),
  );
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  const sessions = Array.from({ length: ANSWERS }, () => {
    const session = connect(`http://${server}`).on("error", () => undefined);
    const headers = { ":method": "POST", ":path": "/busbar.v1.Busbar/GetClusterGraph" };
    const stream = session.request({ ...headers, "content-type": "application/grpc" });
    stream.on("error", () => undefined).end(frame);
    return session;
  });
  return () => {
    for (const session of sessions) session.destroy();
  };
}

test.runIf(process.platform === "linux")(
  "the memory of unread answers is freed when their connections close",
  async () => {
    const { pid } = await site.startServer();
    const answer = await fetch(`${site.http}/v1/clusters`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "big", graph: aGraph() }),
    });
    expect(answer.status).toBe(201);
    const text = await (await fetch(`${site.http}/v1/clusters/big/graph`)).text();
    const held = ANSWERS * text.length;
    expect(held).toBeGreaterThan(32 * MIB);
    const least = await restingRss(pid);
    const close = openUnread(site.server);
    const isHeld = (): boolean => rssOf(pid) > least + 0.8 * held;
    await eventually(isHeld, { what: "all answers are held", timeoutMs: MEMORY_MS_MAX });
    await restingRss(pid); // rendering left its own garbage, whose collection would hide ours
    close();
    const isBack = (): boolean => rssOf(pid) < least + 0.4 * held;
    const what = (): string => `${rssOf(pid) / MIB} MiB to come down to ${least / MIB}`;
    await eventually(isBack, { what, timeoutMs: MEMORY_MS_MAX });
  },
);
