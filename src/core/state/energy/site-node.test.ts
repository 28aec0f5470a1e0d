import { beforeEach, describe, expect, test } from "vitest";
import { aHello } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { nodeId } from "../../model/ids.ts";
import { type JobSpecInput, toJobSpec } from "../../model/job/job-spec.ts";
import type { Power, SiteEdges } from "../../model/node/power.ts";

let world: World;
beforeEach(() => {
  world = new World();
});

const power = (watts: number, site: Partial<SiteEdges> = {}): Power => ({
  watts,
  isBare: true,
  site: { edges: 4, shares: 1, capacity: { cpu: 4_000 }, ...site },
});
const connect = (name: string, own: Power | undefined, capacity = {}): void => {
  const hello = aHello(name, { cluster: "sites", capacity, ...(own && { power: own }) });
  world.do({ kind: "connect-node", ...hello, nowMs: world.nowMs });
};
const tell = (name: string, own: Power): void => {
  const link = world.state.nodes.get(nodeId(name))?.node.link;
  const session = link?.kind === "connected" ? link.session : 0;
  const at = { nodeId: nodeId(name), session, nowMs: world.nowMs };
  world.do({ kind: "report-power", ...at, power: own });
};
const submit = (input: JobSpecInput): void => {
  const submissions = [{ spec: toJobSpec(input), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, nowMs: world.nowMs, mustBePossible: true });
};
const energy = (wattSeconds: number, more: JobSpecInput = {}): void =>
  submit({ ...more, energy: { wattSeconds } });

const place = (): string[] => {
  world.settle();
  const placed = world.plan().map(({ state, share, jobId }) => {
    return `${"nodeId" in state ? state.nodeId : "?"}: ${jobId} ${share ?? "task"}`;
  });
  expect(checkState(world.state)).toEqual([]);
  return placed;
};

describe("a node that represents the edges of a site", () => {
  test("accepts as many shares at once as it reports, and in a split one per job", () => {
    connect("site-a", power(30));
    connect("site-b", power(10));
    energy(400);
    expect(place()).toEqual(["site-a: 1 300", "site-b: 1 100"]);
    energy(50);
    expect(place()).toEqual([]);
    tell("site-b", power(20, { shares: 2 }));
    expect(place()).toEqual(["site-b: 2 50"]);
    // It may accept fewer than it has: running shares stay.
    tell("site-b", power(20, { shares: 1 }));
    energy(60);
    expect(place()).toEqual([]);
    tell("site-b", power(20, { shares: 3 }));
    expect(place()).toEqual(["site-b: 3 60"]);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test("accepts no other task, though its edges have cpus", () => {
    connect("site-a", power(30, { shares: 4 }));
    expect(() => submit({ command: ["true"] })).toThrow("runs only shares of energy");
    connect("w1", undefined, { cpu: 1_000 });
    submit({ command: ["true"] });
    expect(place()).toEqual(["w1: 1 task"]);
    submit({ command: ["true"] });
    expect(place()).toEqual([]);
  });

  test("accepts shares that run on one of its edges, however many it accepts at once", () => {
    connect("site-a", power(30, { shares: 8 }));
    const large = { command: ["true"], resources: { cpu: 5 } };
    expect(() => energy(400, large)).toThrow("too small: has 4 cpu, 5 cpu requested");
    energy(400, { command: ["true"], resources: { cpu: 4 } });
    energy(300, { command: ["true"], resources: { cpu: 4 } });
    expect(place()).toEqual(["site-a: 1 400", "site-a: 2 300"]);
    tell("site-a", power(30, { shares: 8, capacity: { cpu: 8_000 } }));
    energy(200, large);
    expect(place()).toEqual(["site-a: 3 200"]);
  });

  test("an edge that becomes a site accepts no more tasks", () => {
    connect("site-a", power(30, { capacity: {} }));
    tell("site-a", { watts: 30, isBare: true });
    energy(10);
    expect(place()).toEqual(["site-a: 1 10"]);
    tell("site-a", power(30, { capacity: {} }));
    expect(() => submit({ command: ["true"], resources: { cpu: 0 } })).toThrow(
      "runs only shares of energy",
    );
  });
});
