import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { parseGraph, parseGraphText } from "../../core/graph/jgf.ts";
import { layOut } from "../../core/graph/layout.ts";
import { parseCompatibilitySpec } from "../../core/graph/subsystems/compatibility-spec.ts";
import { linkSubsystem } from "../../core/graph/subsystems/link-subsystem.ts";
import { decodeSubsystem, encodeGraph, encodeSubsystem } from "../../core/graph/rows.ts";
import {
  parseSubsystem,
  renderSubsystemJgf,
  toSubsystemJgf,
} from "../../core/graph/subsystems/subsystem.ts";
import { parseJobspec } from "../../core/jobspec/read/parse.ts";
import { runToEnd } from "../../lib/run-to-end.ts";
import { limits } from "../../limits.ts";
import type { DocumentReader } from "../../ports/document-reader.ts";
import { createInlineReader } from "./inline-reader.ts";
import { ReaderThread } from "./reader-thread.ts";
import { createThreadReader } from "./thread-reader.ts";

let clock: FakeClock;
let reader: DocumentReader;
beforeEach(() => {
  clock = new FakeClock();
  reader = createThreadReader(clock);
});
afterEach(() => reader.close());

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const aJobspec = (tasks: number): string =>
  JSON.stringify({
    version: 1,
    resources: { some: { type: "node", count: 1 } },
    tasks: Array.from({ length: tasks }, (_, at) => ({
      name: `t${at}`,
      command: ["echo", "x".repeat(50)],
      resources: "some",
      ...(at > 0 && { depends_on: [`t${at - 1}`] }),
    })),
  });

/** A graph with labels, metadata and several roots; `count` nodes with 3 cores each. */
function aGraph(count: number) {
  const nodes: Record<string, object> = { rest: { metadata: { type: "storage", size: 7 } } };
  const edges: object[] = [];
  for (let at = 0; at < count; at++) {
    nodes[`n${at}`] = { label: `node ${at}`, metadata: { type: "node", rack: at % 5 } };
    for (let core = 0; core < 3; core++) {
      nodes[`n${at}c${core}`] = { metadata: { type: "core" } };
      edges.push({ source: `n${at}`, target: `n${at}c${core}`, relation: "contains" });
    }
  }
  return { graph: { nodes, edges } };
}

test("a long jobspec is read like a short one, in another thread", async () => {
  const text = aJobspec(300);
  expect(text.length).toBeGreaterThan(limits.jobspecInlineCharsMax);
  let isOther = false;
  setImmediate(() => (isOther = true));
  expect(await reader.jobspec(text)).toEqual(parseJobspec(text));
  expect(isOther).toBe(true); // other work had its turn meanwhile
});

test("errors of a long jobspec are the same as of a short one", async () => {
  const text = `version: 2\n${"k: 1\n".repeat(10_000)}`;
  const message = (run: Promise<unknown>): Promise<unknown> =>
    run.then(
      () => "none",
      (error: unknown) => error,
    );
  expect(await message(reader.jobspec(text))).toEqual(
    await message(createInlineReader().jobspec(text)),
  );
});

test("a graph read in another thread is the same graph, with its layout and its row", async () => {
  const document = aGraph(2_000);
  const text = JSON.stringify(document);
  expect(text.length).toBeGreaterThan(limits.graphInlineBytesMax);
  const [read, own] = [await reader.graph(text), parseGraph(document)];
  expect(read).toEqual(own);
  expect(encodeGraph(read)).toBe(encodeGraph(own));
  expect(layOut(read, new Map())).toEqual(layOut(own, new Map()));
  expect(encodeGraph(read)).toBe(encodeGraph(own)); // also when it is requested again
});

test("a registration returns its other fields, whatever form the graph has", async () => {
  const { graph } = aGraph(2_000);
  for (const given of [graph, { graph }]) {
    const body = Buffer.from(JSON.stringify({ name: "blue", update: true, graph: given }));
    const read = await reader.registration(body);
    expect(read.fields).toEqual({ name: "blue", update: true });
    expect(read.graph?.ids).toHaveLength(8_001);
  }
});

/** Packages with labels, metadata and versions; each node of `aGraph(count)` has two of them. */
function aSubsystem(count: number) {
  const nodes: Record<string, object> = {};
  const edges: object[] = [];
  for (let at = 0; at < count; at++) {
    const metadata = { type: `package${at % 7}`, version: `1.${at}`, attributes: { at: at % 3 } };
    nodes[`p${at}`] = at % 2 === 0 ? { metadata } : { label: `package ${at}`, metadata };
    edges.push({ source: `n${at}`, target: `p${at}`, relation: "contains" });
    edges.push({ source: `n${at}`, target: `p${(at * 5) % count}`, relation: "contains" });
    edges.push({ source: `p${at}`, target: `n${at}`, relation: "in" });
    if (at > 0) edges.push({ source: `p${at}`, target: "p0", relation: "contains" });
  }
  return { graph: { nodes, edges } };
}

test("a subsystem read in another thread is the same subsystem, with its row", async () => {
  const graph = parseGraph(aGraph(3_000));
  const document = aSubsystem(3_000);
  const own = parseSubsystem("spack", document, graph);
  const text = JSON.stringify(document);
  expect(text.length).toBeGreaterThan(limits.graphInlineBytesMax);
  for (const given of [text, Buffer.from(text)]) {
    const [one] = (await reader.subsystem(given)).named("spack");
    if (one === undefined) throw new Error("nothing was read");
    const read = runToEnd(linkSubsystem(one.name, one.draft, graph));
    expect(read).toEqual(own);
    expect(decodeSubsystem(encodeSubsystem(read))).toEqual(own);
    const rendered = runToEnd(renderSubsystemJgf(read, graph));
    expect(JSON.parse(rendered)).toEqual(toSubsystemJgf(own, graph));
  }
});

test("a compspec artifact describes several subsystems of all nodes", async () => {
  const graph = parseGraph(aGraph(20));
  const attributes = Object.fromEntries(times(250, (at) => [`key${at}`, "x".repeat(40)]));
  const compatibilities = times(12, (at) => ({ name: `of${at}-`, attributes }));
  const document = { kind: "CompatibilitySpec", compatibilities };
  const drafts = (await reader.subsystem(JSON.stringify(document))).named("ignored");
  const read = drafts.map(({ name, draft }) => runToEnd(linkSubsystem(name, draft, graph)));
  expect(read).toEqual(parseCompatibilitySpec(document, graph));
  expect(read[0]?.links.size).toBe(20);
});

test("rejects a graph in which all vertices differ", async () => {
  const nodes: Record<string, object> = {};
  for (let at = 0; at <= limits.graphShapesMax; at++) nodes[at] = { metadata: { size: at } };
  await expect(reader.graph(JSON.stringify({ graph: { nodes } }))).rejects.toThrow(
    `graph: has too many different vertices: at most ${limits.graphShapesMax} vertices`,
  );
});

test("gives up a document that takes too long, and reads the next one", async () => {
  const first = reader.jobspec(aJobspec(2_000));
  const second = reader.jobspec(aJobspec(300));
  clock.advance(limits.jobspecReadMsMax);
  await expect(first).rejects.toMatchObject({
    code: "exhausted",
    message: `the document took more than ${limits.jobspecReadMsMax} ms to read; send less at once`,
  });
  expect((await second).items).toHaveLength(300);
});

test(
  "a document that takes too much memory is rejected, and the next one is read",
  { timeout: 60_000 },
  async () => {
    const file = new URL("./reader-worker.ts", import.meta.url);
    const thread = new ReaderThread({ file, clock, timeoutMs: 60_000, memoryMb: 32 });
    try {
      const read = (text: string) => thread.read({ kind: "graph", text }, text.length);
      const [large, small] = [JSON.stringify(aGraph(30_000)), JSON.stringify(aGraph(10))];
      const [first, second] = [read(large), read(small)];
      await expect(first).rejects.toMatchObject({
        code: "exhausted",
        message: "the document took more than 32 MB to read; send less at once",
      });
      expect(await second).toMatchObject({ kind: "graph" });
      expect(thread.waiting).toBe(0);
    } finally {
      await thread.close();
    }
  },
);

test("of too many documents the last ones are rejected, and neither kind waits for the other", async () => {
  const text = aJobspec(200);
  const all = Array.from({ length: limits.documentsWaitingMax + 1 }, () => reader.jobspec(text));
  const graph = reader.graph(JSON.stringify(aGraph(2_000)));
  const room = reader.room("jobspec", 1);
  clock.advance(limits.roomWaitMsMax);
  await expect(room).rejects.toThrow(
    `${limits.documentsWaitingMax} large documents are queued to be read; try again later`,
  );
  await reader.room("graph", 1);
  await expect(all.at(-1)).rejects.toMatchObject({ code: "exhausted" });
  expect(reader.waiting).toBe(limits.documentsWaitingMax + 1);
  await graph;
  await Promise.all(all.slice(0, -1));
});

test("a caller waits a while for a place, and large documents leave some to others", async () => {
  const large = aJobspec(2_000);
  expect(large.length).toBeGreaterThan(limits.mediumDocumentBytesMax);
  const all = Array.from({ length: limits.largeDocumentsWaitingMax }, () => reader.jobspec(large));
  await expect(reader.jobspec(large)).rejects.toMatchObject({ code: "exhausted" });
  await reader.room("jobspec", 10_000); // a short one has a place
  let isAdmitted = false;
  const admitted = reader.room("jobspec", large.length).then(() => (isAdmitted = true));
  await Promise.resolve();
  expect(isAdmitted).toBe(false);
  await Promise.race(all);
  await admitted;
  const late = reader.jobspec(large); // takes the place
  const refused = reader.room("jobspec", large.length);
  const stopped = reader.room("jobspec", large.length);
  clock.advance(limits.roomWaitMsMax - 1);
  const ends = Promise.allSettled([...all, late, stopped]);
  clock.advance(1);
  await expect(refused).rejects.toMatchObject({ code: "exhausted" });
  await reader.close();
  await ends;
});

test("a short document overtakes long ones, and long ones still make progress", async () => {
  const order: string[] = [];
  const read = (name: string, tasks: number) =>
    reader.jobspec(aJobspec(tasks)).then(() => order.push(name));
  await Promise.all([
    read("first", 400), // is being read when the others arrive
    read("long 1", 900),
    read("long 2", 900),
    read("short 1", 200),
    read("short 2", 201),
    read("short 3", 202),
  ]);
  expect(order).toEqual(["first", "long 1", "short 1", "long 2", "short 2", "short 3"]);
});

test("a body with a jobspec returns its other fields, a bounded number of them", async () => {
  const jobspec = aJobspec(300);
  const send = (body: object) => reader.jobspecBody(Buffer.from(JSON.stringify(body)));
  const own = parseJobspec(jobspec);
  expect(await send({ jobspec, group: "g" })).toEqual({ fields: { group: "g" }, jobspec: own });
  const labels = { long: "x".repeat(limits.jobspecFieldsCharsMax) };
  await expect(send({ jobspec, labels })).rejects.toThrow("characters of JSON beside the jobspec");
  const poisoned = Buffer.from(`{"labels":{"__proto__":1},"jobspec":${JSON.stringify(jobspec)}}`);
  await expect(reader.jobspecBody(poisoned)).rejects.toThrow("body: has a key __proto__");
  const deep = Buffer.from(`{"labels":${"[".repeat(500_000)}${"]".repeat(500_000)}}`);
  await expect(reader.jobspecBody(deep)).rejects.toThrow(/body: is not JSON: .*levels deep/);
  await expect(send({ jobspec: [jobspec] })).resolves.toEqual({
    fields: { jobspec: [jobspec] }, // the schema rejects it later
    jobspec: undefined,
  });
});

test("documents that wait when the server stops are rejected", async () => {
  const waiting = [reader.jobspec(aJobspec(300)), reader.jobspec(aJobspec(300))];
  const ends = Promise.allSettled(waiting);
  await reader.close();
  for (const end of await ends) {
    expect(end).toMatchObject({ status: "rejected", reason: { code: "unavailable" } });
  }
  await expect(reader.graph(JSON.stringify(aGraph(2_000)))).rejects.toThrow("the server stops");
});

test("a short document is read at once", async () => {
  expect(await reader.graph(JSON.stringify(aGraph(2)))).toEqual(
    parseGraphText(JSON.stringify(aGraph(2))),
  );
  expect(reader.waiting).toBe(0);
});
