import { describe, expect, test } from "vitest";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { parseGraph } from "../../graph/jgf.ts";
import { MatchTotal } from "../../graph/match/match-total.ts";
import { parseSubsystem } from "../../graph/subsystems/subsystem.ts";
import { aDocument, documentOf, times } from "../../graph/testing/documents.ts";
import { requireOne, slots, want } from "../../graph/testing/requests.ts";
import { clusterId } from "../../model/ids.ts";
import { chooseForAll } from "../clusters/choose-for-all.ts";
import { describeClusterReasons } from "./describe.ts";
import { satisfyChoice } from "./satisfy.ts";
import { join, submit } from "../testing/worlds.ts";

function register(world: World, name: string, nodes: number, cores = 8): void {
  const inside = times(nodes, { type: "node", inside: [{ type: "core", size: cores }] });
  const graph = parseGraph(documentOf({ type: "cluster", inside }));
  const command = { kind: "register-cluster", id: clusterId(name), graph } as const;
  world.do({ ...command, isUpdate: false, nowMs: 5 });
}

function addIo(world: World, name: string): void {
  const id = clusterId(name);
  const graph = world.state.clusters.graphs.graph(id);
  const subsystem = parseSubsystem("io", aDocument({ io0: "shm" }, [["1", "io0"]]), graph);
  world.do({ kind: "put-subsystems", id, subsystems: [subsystem], graph });
}

const say = (world: World, name: string, patch: Record<string, unknown>): void =>
  world.do({ kind: "set-status", id: clusterId(name), patch, counters: undefined, nowMs: 9 });

/** With reasons as text. */
const shown = (...asked: Parameters<typeof satisfyChoice>) =>
  satisfyChoice(...asked).clusters.map((answer) => ({
    ...answer,
    reasons: describeClusterReasons(answer.reasons),
  }));

const brief = (world: World, ...choice: Parameters<typeof satisfyChoice>[1]) =>
  shown(world.state, choice).map(({ cluster, ever, now, slots, reasons }) => [
    cluster,
    ever && now,
    slots,
    ...reasons,
  ]);

describe("satisfy", () => {
  test("answers for every cluster, by name, with the number of slots or the reasons", () => {
    const world = new World();
    register(world, "red", 2, 4);
    register(world, "blue", 3);
    const asked = [[slots(1, "node", [want(8, "core")])]];
    expect(shown(world.state, asked)).toEqual([
      {
        cluster: "blue",
        kind: "pulling",
        ever: true,
        now: true,
        slots: 3,
        alternative: 0,
        reasons: [],
      },
      {
        cluster: "red",
        kind: "pulling",
        ever: false,
        now: false,
        slots: 0,
        alternative: 0,
        reasons: ["2 nodes have 4 cores, 8 requested"],
      },
    ]);
    expect(satisfyChoice(world.state, asked).clusters[1]?.reasons).toMatchObject([
      { kind: "graph", refusals: [{ kind: "too-small", type: "core", asked: 8, found: 4 }] },
    ]);
  });

  test("equal clusters get the same reason, others their own", () => {
    const world = new World();
    for (const name of ["a", "b", "c"]) register(world, name, 2);
    register(world, "d", 1);
    addIo(world, "c");
    const asked = [want(2, "node", [], { requires: [requireOne("io", "type", "shm")] })];
    expect(brief(world, asked)).toEqual([
      ["a", false, 0, "no node with io type=shm"],
      ["b", false, 0, "no node with io type=shm"],
      ["c", false, 0, "1 of 2 nodes requested with io type=shm"],
      ["d", false, 0, "1 node, 2 requested"],
    ]);
  });

  test("shows the first alternative that fits; when none fits, the reason of each, once", () => {
    const world = new World();
    register(world, "blue", 2);
    const [gpu, node, many] = [[want(1, "gpu")], [want(2, "node")], [want(9, "node")]];
    expect(satisfyChoice(world.state, [gpu, node]).clusters[0]).toMatchObject({
      ever: true,
      alternative: 1,
      slots: 1,
    });
    expect(brief(world, gpu, many, gpu)).toEqual([
      ["blue", false, 0, "there is no gpu", "2 nodes, 9 requested"],
    ]);
  });

  test("nodes of managed clusters are compared one by one", () => {
    const world = new World();
    join(world, "n1", { cpu: 4_000 }, "mine");
    join(world, "n2", { cpu: 5_000 }, "mine");
    register(world, "blue", 2);
    const asked = [[want(1, "node", [want(2, "core")])]];
    const mine = () => shown(world.state, asked)[1];
    expect(mine()).toMatchObject({ cluster: "mine", kind: "managed", ever: true, slots: 4 });
    submit(world, { array: "0-7" });
    world.plan();
    expect(mine()).toMatchObject({
      ever: true,
      now: false,
      reasons: [
        "1 node: busy: 0 cpu free, 2 cpu requested",
        "1 node: busy: 1 cpu free, 2 cpu requested",
      ],
    });
    const two = [[want(2, "node", [want(2, "core")])]];
    expect(shown(world.state, two)).toMatchObject([
      { cluster: "blue", ever: true },
      { cluster: "mine", ever: false, reasons: ["2 nodes: 1 node, 2 requested"] },
    ]);
    // Each of two processes may be on a node of its own.
    expect(satisfyChoice(world.state, two, asked).clusters[1]).toMatchObject({ ever: true });
  });

  test("a whole node fits once, also one that offers nothing", () => {
    const world = new World();
    join(world, "bare", {}, "mine");
    join(world, "large", { cpu: 64_000 }, "mine");
    expect(satisfyChoice(world.state, [[want(1, "node")]]).clusters).toMatchObject([{ slots: 2 }]);
  });

  test("an invalid request is rejected", () => {
    expect(() => satisfyChoice(new World().state, [])).toThrow("resources: 1 to 64 alternatives");
  });
});

describe("choosing", () => {
  const parts = (world: World, ...counts: number[]) =>
    counts.map((count) => satisfyChoice(world.state, [[want(count, "node")]]).clusters);
  const how = (strategy: string, options = {}, parameters = {}) => ({
    strategy,
    options,
    parameters,
  });

  test("only of clusters that could take every part, by their reported state", () => {
    const world = new World();
    register(world, "small", 1);
    register(world, "dear", 4);
    register(world, "cheap", 4);
    say(world, "small", { cost_per_node_hour: 1 });
    say(world, "dear", { cost_per_node_hour: 9 });
    say(world, "cheap", { cost_per_node_hour: 2 });
    const both = parts(world, 1, 3);
    expect(chooseForAll(world.state, both, how("cheapest"), () => 0)).toEqual({
      strategy: "cheapest",
      ranked: ["cheap", "dear"],
      dropped: [],
    });
    expect(chooseForAll(world.state, both, how("random"), () => 0.99).ranked[0]).toBe("dear");
  });

  test("the same answers follow the newest state and load of clusters", () => {
    const world = new World();
    for (const name of ["b", "a", "c"]) register(world, name, 4);
    for (const [at, name] of ["a", "b", "c"].entries())
      say(world, name, { cost_per_node_hour: at });
    const answers = parts(world, 1);
    const ranked = (strategy: string) =>
      chooseForAll(world.state, answers, how(strategy), () => 0).ranked;
    expect([ranked("cheapest"), ranked("least-loaded")]).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
    say(world, "c", { cost_per_node_hour: -1 });
    submit(world, { request: [[want(1, "node")]], placement: { cluster: "a" } });
    world.plan();
    expect([ranked("cheapest"), ranked("least-loaded"), ranked("random")]).toEqual([
      ["c", "a", "b"],
      ["b", "c", "a"],
      ["a", "b", "c"],
    ]);
  });

  test("new answers give new candidates, whichever lists are remembered", () => {
    const world = new World();
    for (const name of ["b", "a"]) register(world, name, 4);
    const [both, reversed] = [parts(world, 1), parts(world, 1).map((part) => part.toReversed())];
    const ranked = (answers: typeof both, strategy: string) =>
      chooseForAll(world.state, answers, how(strategy), () => 0).ranked;
    const lists = Array.from({ length: limits.knownCandidateListsMax + 1 }, () => [...both]);
    for (const list of [both, ...lists, both]) expect(ranked(list, "first")).toEqual(["a", "b"]);
    expect(ranked(reversed, "first")).toEqual(["b", "a"]);
    expect(ranked(reversed, "random")).toEqual(["a", "b"]);
    world.do({ kind: "remove-cluster", id: clusterId("b"), by: "me", nowMs: 9 });
    expect(ranked(parts(world, 1), "first")).toEqual(["a"]);
    expect(ranked(parts(new World(), 1), "first")).toEqual([]);
  });

  test("by rules over state and the job's parameters, with the reason for each dropped cluster", () => {
    const world = new World();
    for (const name of ["full", "free", "silent"]) register(world, name, 2);
    say(world, "full", { nodes_free: 0 });
    say(world, "free", { nodes_free: 2 });
    const priorities = [{ priority: 1, steps: [{ filter: "nodes_free >= wanted" }] }];
    const rules = how("constraint", { priorities }, { wanted: 2 });
    expect(chooseForAll(world.state, parts(world, 1), rules, () => 0)).toEqual({
      strategy: "constraint",
      ranked: ["free"],
      dropped: [
        {
          name: "full",
          reason: { priority: 1, expression: "nodes_free >= wanted", problem: "is false" },
        },
        {
          name: "silent",
          reason: {
            priority: 1,
            expression: "nodes_free >= wanted",
            problem: "nodes_free is not known",
          },
        },
      ],
    });
  });

  test("an unknown strategy is rejected, also when there is nothing to choose", () => {
    const choose = () => chooseForAll(new World().state, [[]], how("cheapst"), () => 0);
    expect(choose).toThrow("did you mean cheapest?");
  });
});

describe("the steps of one call are bounded", () => {
  /** Each of its 3,000 nodes is unique, so each is matched by itself. */
  function irregular(): World {
    const world = new World();
    const inside = Array.from({ length: 3_000 }, (_, at) => ({
      type: "node",
      inside: [{ type: "core", size: at + 1 }],
    }));
    const graph = parseGraph(documentOf({ type: "cluster", inside }));
    const command = { kind: "register-cluster", id: clusterId("odd"), graph } as const;
    world.do({ ...command, isUpdate: false, nowMs: 5 });
    return world;
  }
  const choiceOf = (cores: number) => [[want(1, "node", [want(cores, "core")])]];

  test("for all tasks together, and no answer changes", () => {
    const { state } = irregular();
    const total = new MatchTotal();
    let answered = 0;
    const askAll = (): void => {
      for (; answered < 5_000; answered++) {
        const choice = choiceOf(answered + 1);
        const [one] = total.count(() => satisfyChoice(state, choice)).clusters;
        expect(one?.ever).toBe(answered < 3_000);
      }
    };
    expect(askAll).toThrow(expect.objectContaining({ code: "exhausted" }));
    expect(answered).toBeGreaterThan(10);
    expect(total.steps).toBeLessThan(1.1 * limits.callStepsMax);
    // The next call has a new budget, and answers the task that was left.
    expect(satisfyChoice(state, choiceOf(answered + 1)).clusters[0]?.ever).toBe(true);
  });

  test("for nodes of managed clusters too", () => {
    const world = new World();
    join(world, "a", { cpu: 4_000 });
    const total = new MatchTotal();
    total.count(() => satisfyChoice(world.state, choiceOf(1)));
    expect(total.steps).toBeGreaterThanOrEqual(limits.nodeSteps);
  });
});
