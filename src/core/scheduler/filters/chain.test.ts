import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { MatchTotal } from "../../graph/match/match-total.ts";
import { jobId, nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import {
  canStart,
  cannotStart,
  CONTAINERS,
  lookingForContainers,
} from "../../model/node/container-facts.ts";
import { NO_FACTS } from "../../model/node/node-facts.ts";
import { checkPossible } from "../../state/decide/tasks/check-possible.ts";
import { cheapestChange } from "../explain/cheapest-change.ts";
import { outlook } from "../explain/explain.ts";
import { clusterAnswers } from "../explain/places.ts";
import { dryRun } from "../explain/dry-run.ts";
import { NodeClasses } from "../nodes/node-classes.ts";
import { createPolicy } from "../policy.ts";
import { cores, join, register, submit, tell, whereTo } from "../testing/worlds.ts";
import { verify } from "../verify.ts";
import { FilterChain, filters } from "./chain.ts";
import type { Filter, Question } from "./filter.ts";

const policy = createPolicy({ policy: "spread" }, () => 0);
const bounds = { candidatesMax: 8, placementsMax: 100, stepsMax: 1e6 };

const noX: Question = {
  allows: (_, { node }) => !node.id.startsWith("x"),
  reason: () => ({ kind: "other-node", asked: "any without an x" }),
};

/** The same filter: without declarations, with all of them, and as one whose answer may change. */
const added: readonly Filter[] = [
  { name: "no-x", ever: noX },
  {
    name: "no-x, declared",
    ever: noX,
    requestKey: () => "",
    nodeKey:
      () =>
      ({ node }) =>
        node.id.startsWith("x") ? "x" : "",
  },
  { name: "no-x, for now", now: noX },
  { name: "no-x, by row", now: noX, nowFollowsRow: true },
];

const requests: readonly (readonly [string, Partial<JobSpecInput>])[] = [
  ["amounts", { resources: { cpu: 1 } }],
  ["a cluster", { placement: { cluster: "default" } }],
  ["a graph", { request: cores(1) }],
];

describe("a filter that is added to the chain", () => {
  for (const filter of added) {
    for (const [what, input] of requests) {
      const isNever = filter.ever !== undefined;
      test(`${filter.name}, ${what}: planner, judge, admission, dry run and explanations ask it`, () => {
        const world = new World(new FilterChain([...filters, filter]));
        const { state } = world;
        const spec = aSpec(input);
        join(world, "x1", { cpu: 2_000 });
        const total = new MatchTotal();
        const admit = (): void => checkPossible(state, spec, { at: 0, total });
        const nodes = (): number => outlook(spec, new NodeClasses(state, spec)).now;

        if (isNever) expect(admit).toThrow("any without an x");
        else expect(admit).not.toThrow();
        expect(nodes()).toBe(0);
        expect(dryRun(state, [spec], policy, bounds)[0]?.placements).toEqual([]);
        submit(world, input);
        expect(world.plan()).toEqual([]);
        const record = state.jobs.open(jobId(1)) ?? expect.fail("it is there");
        const node = state.nodes.get(nodeId("x1")) ?? expect.fail("it is there");
        const proposal = { record, index: 0, target: { kind: "node", node } } as const;
        expect(verify(state, proposal)).toMatchObject({ kind: "node-refuses", node: "x1" });
        const [answer] = clusterAnswers(state, spec, policy);
        expect(answer?.verdict).toBe(isNever ? "never" : "not-now");
        expect(cheapestChange(state, spec, policy)?.step?.kind).not.toBe("undrain");

        join(world, "a1", { cpu: 2_000 });
        expect(admit).not.toThrow();
        expect(nodes()).toBe(1);
        const trial = dryRun(state, [spec], policy, bounds)[0]?.placements[0]?.target;
        expect(trial?.kind === "node" && trial.node.node.id).toBe("a1");
        expect(world.plan().map(whereTo)).toEqual(["a1"]);
        expect(checkState(state)).toEqual([]);
      });
    }
  }

  test("is called in pools that different requests share", () => {
    const world = new World(new FilterChain([...filters, { name: "no-x", ever: noX }]));
    world.state.fleet.poolsPerPlaceMax = 0;
    join(world, "x1", { cpu: 2_000 });
    submit(world, {});
    expect(world.plan()).toEqual([]);
    join(world, "a1", { cpu: 2_000 });
    expect(world.plan().map(whereTo)).toEqual(["a1"]);
  });
});

const someCpus = fc.integer({ min: 1, max: 4 });
const aNode = fc.record({
  name: fc.constantFrom("a", "b", "c", "xa", "xb"),
  cluster: fc.constantFrom("default", "blue"),
  cpus: someCpus,
  gpus: fc.integer({ min: 0, max: 1 }),
  zone: fc.constantFrom("e", "w"),
  drained: fc.boolean(),
  contains: fc.constantFrom(
    undefined,
    canStart({}),
    cannotStart("there is no runc"),
    lookingForContainers(),
  ),
});
const aJob: fc.Arbitrary<Partial<JobSpecInput>> = fc.oneof(
  fc.record(
    {
      resources: fc.record({ cpu: someCpus, gpu: fc.constant(1) }, { requiredKeys: ["cpu"] }),
      placement: fc.record(
        {
          cluster: fc.constantFrom("default", "blue", "pull"),
          node: fc.constantFrom("a", "b", "xa"),
          labels: fc.constantFrom({ zone: "e" }, { zone: "w" }),
        },
        { requiredKeys: [] },
      ),
      image: fc.constant("tool:1"),
    },
    { requiredKeys: ["resources"] },
  ),
  someCpus.map((count) => ({ request: cores(count) })),
);

describe("planner and explanations", () => {
  test('never disagree: an explanation "fits nowhere" means no placement, and the reverse', () => {
    let placed = 0;
    let refused = 0;
    const property = fc.property(
      fc.uniqueArray(aNode, { selector: ({ name }) => name, maxLength: 5 }),
      fc.array(aJob, { minLength: 1, maxLength: 8 }),
      fc.record({ filter: fc.constantFrom(undefined, ...added), shared: fc.boolean() }),
      fc.record({ pulls: fc.boolean(), free: fc.integer({ min: 0, max: 1 }) }),
      (nodes, jobs, { filter, shared }, { pulls, free }) => {
        const chain = new FilterChain(filter === undefined ? filters : [...filters, filter]);
        const world = new World(chain);
        const { state } = world;
        if (shared) state.fleet.poolsPerPlaceMax = 0;
        if (pulls) {
          register(world, "pull");
          tell(world, "pull", { free });
        }
        for (const [
          at,
          { name, cluster, cpus, gpus, zone, drained, contains },
        ] of nodes.entries()) {
          const capacity = { cpu: cpus * 1_000, ...(gpus > 0 && { gpu: gpus }) };
          const facts = contains && { ...NO_FACTS, software: { [CONTAINERS]: [contains] } };
          const hello = { capacity, labels: { zone }, cluster, session: at + 1, facts };
          world.do({ kind: "connect-node", ...aHello(name, hello) });
          const drain = { reason: "" };
          if (drained) world.do({ kind: "drain-node", nodeId: nodeId(name), drain });
        }
        for (const input of jobs) {
          const spec = aSpec(input);
          const classes = new NodeClasses(state, spec);
          const answers = clusterAnswers(state, spec, policy, classes);
          const fits =
            outlook(spec, classes).now > 0 || answers.some(({ verdict }) => verdict === "yes");
          const tried = dryRun(state, [spec], policy, bounds)[0]?.placements.length ?? 0;
          expect(tried > 0).toBe(fits);
          submit(world, input);
          const rows = world.plan();
          expect(rows.length > 0).toBe(fits);
          if (fits) placed++;
          else refused++;
        }
        expect(checkState(state)).toEqual([]);
      },
    );
    fc.assert(property, { numRuns: 300 });
    expect(Math.min(placed, refused)).toBeGreaterThan(100);
  });
});
