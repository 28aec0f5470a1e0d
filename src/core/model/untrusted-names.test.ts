import * as fc from "fast-check";
import { expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { parseProbe } from "../../agent/executors/remote/probe.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { parseCompatibilitySpec } from "../graph/subsystems/compatibility-spec.ts";
import { mergeState, parseCounters, readValues } from "../graph/cluster-state.ts";
import { countsByType, vertexOf } from "../graph/graph.ts";
import { parseGraph, parseGraphText, toJgf } from "../graph/jgf.ts";
import { readResourceChoice } from "../graph/request/read-request.ts";
import { parseSubsystem } from "../graph/subsystems/subsystem.ts";
import { nodePolicyByName } from "../scheduler/nodes/node-policy.ts";
import { ended } from "../state/decide/tasks/report-runs.ts";
import { withDeclared } from "./declared-software.ts";
import { clusterId, jobId, nodeId } from "./ids.ts";
import { isPrintable } from "./texts.ts";

const words = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf"];
const bad = ["a\u001b[31m", "a\nb", "\u202eabc", "\ud800", "\u0085"];
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ maxLength: 200 }),
  fc.constantFrom(...words, ...bad, "x".repeat(5_000)),
);
/** Their names are keys of maps on the wire, where this one would be lost. */
const maps = new Set(["a subsystem", "the type of a vertex"]);

const own = <Value>(key: string, value: Value): Record<string, Value> =>
  Object.fromEntries([[key, value]]);
const graphWith = (id: string, vertex: object) => ({ graph: { nodes: own(id, vertex) } });
const graph = parseGraph({ graph: { nodes: { "0": { metadata: { type: "node" } } } } });
const subsystem = (name: string) =>
  parseSubsystem(name, graphWith("x", { metadata: { type: "io" } }), graph);

/** Every place where a client names something, and what is stored of it. */
const places: Readonly<Record<string, (text: string) => unknown>> = {
  "the id of a vertex": (id) => parseGraph(graphWith(id, {})).ids,
  "the label of a vertex": (label) => [...parseGraph(graphWith("0", { label })).labels.values()],
  "the type of a vertex": (type) =>
    countsByType(parseGraph(graphWith("0", { metadata: { type, size: 3 } }))),
  "the unit of a vertex": (unit) => parseGraph(graphWith("0", { metadata: { unit } })).kinds,
  "a key of metadata": (key) =>
    vertexOf(parseGraph(graphWith("0", { metadata: own(key, ["x"]) })), 0).metadata,
  "a nested key of metadata": (key) =>
    vertexOf(parseGraph(graphWith("0", { metadata: { a: [own(key, 1)] } })), 0).metadata,
  "a subsystem": (name) => subsystem(name).name,
  "an attribute of a compatibility spec": (key) =>
    parseCompatibilitySpec(
      { kind: "CompatibilitySpec", compatibilities: [{ name: "os", attributes: own(key, "x") }] },
      graph,
    ).map(({ vertices }) => vertices.map(({ metadata }) => metadata)),
  "a key of the state": (key) => mergeState({}, own(key, 1), 5),
  "a counter": (key) => parseCounters([{ key, by: "jobs" }]),
  "a parameter": (name) => readValues(own(name, 1), "select.parameters"),
  "a type that is asked for": (type) => readResourceChoice([[{ type, count: 1 }]], "request"),
};

const isKept = (value: unknown): boolean => {
  const texts: string[] = [];
  JSON.stringify(value, (key, each: unknown) => {
    texts.push(key, typeof each === "string" ? each : "");
    return each;
  });
  return texts.every((text) => isPrintable(text) && text.length <= 5_000);
};

for (const [what, read] of Object.entries(places)) {
  test(`${what} is refused by its field, or kept and printable`, () => {
    fc.assert(
      fc.property(anyText, (text) => {
        try {
          expect(isKept(read(text))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          expect((error as AppError).field).toBeDefined();
          expect(isPrintable((error as AppError).message)).toBe(true);
        }
      }),
    );
    const refused = maps.has(what) ? [...bad, "__proto__"] : bad;
    for (const text of refused) expect(() => read(text), JSON.stringify(text)).toThrow(AppError);
  });

  test(`${what} may be a word that every object knows`, () => {
    for (const text of words.filter((word) => word !== "__proto__" || !maps.has(what))) {
      expect(JSON.stringify(read(text)), text).toMatch(new RegExp(`"${text}"`));
    }
  });
}

test("values of metadata stay as they were written", () => {
  const text = '{"graph":{"nodes":{"a":{"metadata":{"note":"two\\nlines"}}}}}';
  expect(toJgf(parseGraphText(text)).graph.nodes["a"]?.metadata["note"]).toBe("two\nlines");
});

test("reasons of cancels and drains are stored bounded and printable", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const world = new World();
      const hello = aHello("n1");
      world.do({ kind: "connect-node", ...hello });
      const drain = { by: "me", reason: text };
      world.do({ kind: "drain-node", nodeId: nodeId("n1"), drain });
      const kept = world.state.nodes.get(nodeId("n1"))?.node.drain?.reason ?? "\n";
      world.do({
        kind: "submit-jobs",
        submissions: [{ spec: aSpec(), idempotencyKey: undefined }],
        by: "me",
        nowMs: 1,
      });
      const at = { jobId: jobId(1), index: undefined, by: "me", nowMs: 2 };
      world.do({ kind: "cancel-job", ...at, reason: text });
      const reason = world.state.jobs.get(jobId(1))?.job.closed?.reason ?? "\n";
      for (const each of [kept, reason]) {
        expect(isPrintable(each)).toBe(true);
        expect(each.length).toBeLessThanOrEqual(limits.reasonLengthMax);
        if (isPrintable(text) && text.length < limits.reasonLengthMax) expect(each).toBe(text);
      }
    }),
  );
});

test("messages of an agent about the end of a run are stored bounded and printable", () => {
  const world = new World();
  world.do({
    kind: "submit-jobs",
    submissions: [{ spec: aSpec(), idempotencyKey: undefined }],
    by: "me",
    nowMs: 1,
  });
  const job = world.state.jobs.get(jobId(1))?.job;
  if (job === undefined) throw new Error("the job is not there");
  const run = { jobId: job.id, index: 0, attempt: 1 };
  const at = { nodeId: nodeId("n1"), assignedAtMs: 1, startedAtMs: 1 };
  const task = { ...run, failures: 0, losses: 0, past: [], state: { kind: "running", ...at } };
  const message = `\u001b]0;${"x".repeat(5_000)}`;
  for (const outcome of [
    { kind: "could-not-start", message },
    { kind: "vanished", message },
    { kind: "signalled", signal: message },
  ] as const) {
    const event = { kind: "ended", run, startedAtMs: 1, endedAtMs: 2, outcome } as const;
    const row = JSON.stringify(ended(job, task as Parameters<typeof ended>[1], event, 3));
    expect(row).toContain("␛]0;xxx");
    expect(row.length).toBeLessThan(limits.reasonLengthMax + 1_000);
  }
});

test("facts of a remote machine are printable", () => {
  const { hostname, system } = parseProbe(
    "host a\u001b[31m\nsystem Li\u202enux\ndirectory /tmp\nall\n",
  );
  expect([hostname, system]).toEqual(["a␛[31m", "Li\ufffdnux"]);
});

test("software declared with a name of Object.prototype does not merge with anything", () => {
  const declared = { id: clusterId("c"), name: "constructor", entries: [{ entry: { a: 1 } }] };
  expect(Object.entries(withDeclared({}, [declared], "n1"))).toEqual([["constructor", [{ a: 1 }]]]);
});

test("no policy has a name of Object.prototype", () => {
  for (const word of words) expect(() => nodePolicyByName(word, () => 1)).toThrow(AppError);
});
