import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { World } from "../../../testing/world.ts";
import { want } from "../../graph/testing/requests.ts";
import { clusterId, nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import type { Node } from "../../model/node/node.ts";
import { NodeRecord } from "../nodes/node-record.ts";
import { describeReason } from "../explain/describe.ts";
import { submit } from "../testing/worlds.ts";
import { FILTERS } from "./chain.ts";
import type { Verdict } from "./filter.ts";

const world = new World();
const capacity = { cpu: 4_000, memory: 8 };
world.do({ kind: "connect-node", ...aHello("w1", { capacity, labels: { zone: "a" } }) });
const { node } = world.state.nodes.get(nodeId("w1")) ?? expect.fail("it is there");

interface Case {
  readonly name: string;
  readonly input: Partial<JobSpecInput>;
  readonly row?: Partial<Node>;
  /** The cpus that tasks hold. */
  readonly busy?: number;
  readonly verdict: Verdict;
  readonly text?: string;
}

const never = (reason: (Verdict & { kind: "never" })["reason"]): Verdict => ({
  kind: "never",
  reason,
});
const notNow = (reason: (Verdict & { kind: "not-now" })["reason"]): Verdict => ({
  kind: "not-now",
  reason,
});
const link = { kind: "disconnected", sinceMs: 1 } as const;

const cases: readonly Case[] = [
  { name: "fits exactly", input: { resources: { cpu: 4 } }, verdict: { kind: "yes" } },
  {
    name: "as asked in every way",
    input: { placement: { cluster: "default", node: "w1", labels: { zone: "a" } } },
    verdict: { kind: "yes" },
  },
  {
    name: "too large",
    input: { resources: { cpu: 5 } },
    verdict: never({ kind: "too-small", resource: "cpu", has: 4_000, asked: 5_000 }),
    text: "too small: has 4 cpu, 5 cpu requested",
  },
  {
    name: "no such resource",
    input: { resources: { gpu: 1 } },
    verdict: never({ kind: "too-small", resource: "gpu", has: 0, asked: 1 }),
    text: "too small: has 0 gpu, 1 gpu requested",
  },
  {
    name: "the first resource that is short is told",
    input: { resources: { cpu: 5, gpu: 1 } },
    verdict: never({ kind: "too-small", resource: "cpu", has: 4_000, asked: 5_000 }),
  },
  {
    name: "an agent that does not say that it starts containers",
    input: { image: "tool:1" },
    verdict: never({ kind: "no-containers", why: "its agent does not report container support" }),
    text: "cannot start containers: its agent does not report container support",
  },
  {
    name: "an agent that takes no clients",
    input: { attach: "stdin" },
    verdict: never({ kind: "no-attach" }),
    text: "its agent cannot pass on standard input or a terminal",
  },
  {
    name: "an agent that takes clients",
    input: { attach: "stdin" },
    row: { canAttach: true },
    verdict: { kind: "yes" },
  },
  {
    name: "busy is not never",
    input: { resources: { cpu: 2 } },
    busy: 3,
    verdict: notNow({ kind: "busy", resource: "cpu", free: 1_000, asked: 2_000 }),
    text: "busy: 1 cpu free, 2 cpu requested",
  },
  {
    name: "what can never change is worth more than what can",
    input: { resources: { cpu: 5 } },
    busy: 3,
    row: { link },
    verdict: never({ kind: "too-small", resource: "cpu", has: 4_000, asked: 5_000 }),
  },
  {
    name: "drained",
    input: {},
    row: { drain: { by: "t", reason: "" } },
    verdict: notNow({ kind: "not-ready", state: "drained", why: undefined }),
    text: "drained",
  },
  {
    name: "draining",
    input: {},
    busy: 1,
    row: { drain: { by: "t", reason: "" } },
    verdict: notNow({ kind: "not-ready", state: "draining", why: undefined }),
  },
  {
    name: "busy and draining: the end of its tasks does not help",
    input: { resources: { cpu: 2 } },
    busy: 3,
    row: { drain: { by: "t", reason: "" } },
    verdict: notNow({ kind: "not-ready", state: "draining", why: undefined }),
  },
  {
    name: "disconnected",
    input: {},
    row: { link },
    verdict: notNow({ kind: "not-ready", state: "disconnected", why: undefined }),
  },
  {
    name: "unhealthy, with the reason",
    input: {},
    row: { sickness: { reason: "disk full", sinceMs: 1 } },
    verdict: notNow({ kind: "not-ready", state: "unhealthy", why: "disk full" }),
    text: "unhealthy: disk full",
  },
  {
    name: "another cluster",
    input: { placement: { cluster: "blue" } },
    verdict: never({ kind: "other-cluster", asked: "blue" }),
    text: "not in cluster blue",
  },
  {
    name: "another node",
    input: { placement: { node: "w2" } },
    verdict: never({ kind: "other-node", asked: "w2" }),
    text: "not the requested node (w2)",
  },
  {
    name: "another label",
    input: { placement: { labels: { zone: "b" } } },
    verdict: never({ kind: "other-label", name: "zone", asked: "b" }),
    text: "label zone is not b",
  },
  {
    name: "only pull clusters",
    input: { placement: { kind: "pulling" } },
    verdict: never({ kind: "pull-clusters-only" }),
  },
  {
    name: "the edges of a site, for a task that is no share",
    input: {},
    row: { power: { watts: 5, site: { edges: 2, shares: 3, capacity: { cpu: 4_000 } } } },
    verdict: never({ kind: "shares-only" }),
    text: "is the node of a site's edges, which runs only shares of energy",
  },
  {
    name: "a share that is too large for each edge of a site",
    input: { energy: { wattSeconds: 9 }, command: ["true"], resources: { cpu: 3 } },
    row: {
      capacity: { cpu: 6_000, "power-share": 3 },
      power: { watts: 5, site: { edges: 2, shares: 3, capacity: { cpu: 2_000 } } },
    },
    verdict: never({ kind: "too-small", resource: "cpu", has: 2_000, asked: 3_000 }),
  },
  {
    name: "a share for the edges of a site",
    input: { energy: { wattSeconds: 9 }, command: ["true"], resources: { cpu: 2 } },
    row: {
      capacity: { cpu: 6_000, "power-share": 3 },
      power: { watts: 5, site: { edges: 2, shares: 3, capacity: { cpu: 2_000 } } },
    },
    verdict: { kind: "yes" },
  },
  {
    name: "an agent of a pull cluster",
    input: {},
    row: { clusterAgent: { leaseMs: undefined, onLost: "requeue" }, cluster: clusterId("blue") },
    verdict: never({ kind: "cluster-agent" }),
  },
];

describe("filters", () => {
  for (const { name, input, row, busy = 0, verdict, text } of cases) {
    test(name, () => {
      const record = new NodeRecord({ ...node, ...row });
      const spec = aSpec(input);
      if (busy > 0) {
        submit(world, {});
        const [task] = world.plan();
        if (task !== undefined) record.bind(task, { cpu: busy * 1_000 }, undefined);
      }
      const found = FILTERS.judge(spec, record);
      expect(found).toEqual(verdict);
      if (text !== undefined && found.kind !== "yes") {
        expect(describeReason(found.reason)).toBe(text);
      }
      expect(FILTERS.allows(spec, record)).toBe(verdict.kind === "yes");
      expect(FILTERS.everAllows(spec, record)).toBe(verdict.kind !== "never");
    });
  }

  test("graph refusals are detailed, or brief", () => {
    const record = new NodeRecord(node);
    const spec = aSpec({ request: [[want(1, "node", [want(9, "core")])]] });
    const found = FILTERS.judge(spec, record);
    expect(found).toMatchObject({
      kind: "never",
      reason: { kind: "graph", refusals: [{ kind: "too-small", asked: 9, found: 4 }] },
    });
    const brief = FILTERS.judge(spec, record, true);
    expect(brief).toMatchObject({ kind: "never", reason: { kind: "graph-unexplained" } });
  });

  test("a filter that allows a node now also allows it ever, and declarations hold", () => {
    for (const { input, row } of cases) {
      const record = new NodeRecord({ ...node, ...row });
      const spec = aSpec(input);
      for (const { ever, now } of FILTERS.filters) {
        if (now?.allows(spec, record) === true) {
          expect(ever?.allows(spec, record) ?? true).toBe(true);
        }
      }
      const isFiled = FILTERS.placesOf(record.node).includes(FILTERS.placeOf(spec));
      if (FILTERS.everAllows(spec, record)) expect(isFiled).toBe(true);
    }
  });
});
