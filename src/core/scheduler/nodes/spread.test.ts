import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import type { Task } from "../../model/job/task.ts";
import { join, submit, whereTo } from "../testing/worlds.ts";
import { FillSteps, type StepPlace, stepOf } from "./fill-steps.ts";

// Workers of rik: an instance without a request takes a ten-thousandth of the instances of one
// processor.
const INSTANCES_PER_CPU = 10_000;
const worker = (cpus: number) => ({ cpu: cpus * 1_000, instances: cpus * INSTANCES_PER_CPU });
const INSTANCE = { cpu: 0, instances: 1 };

const nameOf = (at: number): string => `n${String(at).padStart(4, "0")}`;

/** Workers with so many processors each. */
function aFleet(cpus: readonly number[]): World {
  const world = new World();
  world.policy = "spread";
  for (const [at, count] of cpus.entries()) join(world, nameOf(at), worker(count));
  return world;
}

const equal = (count: number, cpus = 4): number[] => Array.from({ length: count }, () => cpus);

/** Places so many tasks one submission after the other, and returns their rows. */
function place(world: World, count: number, resources: Record<string, number> = INSTANCE): Task[] {
  const each = 250;
  const placed: Task[] = [];
  for (let done = 0; done < count; done += each) {
    submit(world, { array: `0-${Math.min(each, count - done) - 1}`, resources });
    placed.push(...world.plan());
  }
  return placed;
}

const countsOf = (world: World): number[] =>
  [...world.state.nodes.values()].map(({ tasks }) => tasks.size);

const rangeOf = (counts: readonly number[]): number => Math.max(...counts) - Math.min(...counts);

describe("spread", () => {
  test("1,000 equal workers get equal numbers of instances, from the first on", () => {
    const world = aFleet(equal(1_000));
    place(world, 1_000);
    expect(new Set(countsOf(world))).toEqual(new Set([1]));
    place(world, 9_000);
    expect(new Set(countsOf(world))).toEqual(new Set([10]));
  });

  test("equal nodes differ by one task at most, whatever a task takes", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 4 * limits.candidatesPerPlacementMax }),
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }),
        fc.constantFrom(INSTANCE, { cpu: 0.001 }, { cpu: 0.25 }, { cpu: 0.25, instances: 1_000 }),
        (nodes, submissions, resources) => {
          const world = aFleet(equal(nodes, 64));
          for (const size of submissions) {
            place(world, size, resources);
            expect(rangeOf(countsOf(world))).toBeLessThanOrEqual(1);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test("nodes of different sizes get shares of their size", () => {
    const sizes = fc.array(fc.constantFrom(1, 2, 3, 4, 8, 16, 64, 96), {
      minLength: 2,
      maxLength: 300,
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 40 }), (cpus, each) => {
        const world = aFleet(cpus);
        const total = cpus.reduce((sum, count) => sum + count, 0);
        place(world, Math.min(4_000, each * total));
        const nodes = [...world.state.nodes.values()].map(({ tasks, node }) => ({
          tasks: tasks.size,
          size: (node.capacity["cpu"] ?? 0) / 1_000,
        }));
        // No node has more than another would have with one more task, up to the width of a step.
        const most = Math.max(...nodes.map(({ tasks, size }) => tasks / size));
        const least = Math.min(...nodes.map(({ tasks, size }) => (tasks + 1) / size));
        expect(most).toBeLessThanOrEqual(least * 1.1);
      }),
      { numRuns: 25 },
    );
  });

  test("tasks that make no node fuller go to the node with the fewest tasks", () => {
    const world = aFleet(equal(100));
    place(world, 100, { cpu: 2 });
    place(world, 1_000);
    expect(new Set(countsOf(world))).toEqual(new Set([11]));
  });

  test("nodes that lost many tasks are filled first", () => {
    const world = aFleet(equal(200));
    const placed = place(world, 2_000);
    for (const task of placed.filter((one) => whereTo(one) < nameOf(20))) {
      world.report(whereTo(task), [task.jobId, task.index, task.attempt], 0);
    }
    expect(rangeOf(countsOf(world))).toBe(10);
    const again = place(world, 200).map(whereTo);
    expect(again.every((name) => name < nameOf(20))).toBe(true);
    expect(rangeOf(countsOf(world))).toBe(0);
  });

  test("one placement looks at a bounded number of nodes, whatever their number and kinds", () => {
    const looks = [200, 2_000].map((nodes) => {
      const cpus = Array.from({ length: nodes }, (_, at) => [1, 4, 16, 64][at % 4] ?? 1);
      const world = aFleet(cpus);
      place(world, nodes, { cpu: 0.7 }); // nothing more fits on the small ones
      const before = world.state.fleet.work.nodesLookedAt;
      place(world, 100, { cpu: 0.7 });
      return (world.state.fleet.work.nodesLookedAt - before) / 100;
    });
    for (const each of looks) expect(each).toBeLessThan(4 * limits.candidatesPerPlacementMax);
  });

  test("a node that fits is found among any number that do not", () => {
    const world = aFleet([]);
    for (let at = 0; at < 300; at++) join(world, nameOf(at), { cpu: 64_000, memory: 1 });
    join(world, "large", { cpu: 64_000, memory: 8 });
    place(world, 1, { cpu: 60 }); // the others are emptier
    const [task] = place(world, 1, { cpu: 1, memory: 4 });
    expect(task && whereTo(task)).toBe("large");
  });
});

describe("steps", () => {
  test("are in the order of shares, and distinguish small numbers of tasks of any size", () => {
    const share = fc.double({ min: 0, max: 2, noNaN: true });
    fc.assert(
      fc.property(share, share, (a, b) => {
        if (a <= b) expect(stepOf(a)).toBeLessThanOrEqual(stepOf(b));
      }),
    );
    for (const total of [10, 40_000, 1e9]) {
      const steps = Array.from({ length: 33 }, (_, count) => stepOf(count / total));
      expect(new Set(steps).size).toBe(33);
    }
  });

  test("hold what was added and not removed, by step and then by order of arrival", () => {
    const places = [...aFleet(equal(12)).state.nodes.values()].map((record): StepPlace => ({
      record,
      step: 0,
      before: undefined,
      after: undefined,
    }));
    const moves = fc.array(fc.tuple(fc.nat(11), fc.nat(3)), { maxLength: 60 });
    fc.assert(
      fc.property(moves, (all) => {
        const steps = new FillSteps();
        const known = new Set<StepPlace>();
        for (const [at, step] of all) {
          const place = places[at] as StepPlace;
          if (known.delete(place)) steps.remove(place);
          if (step === 3) continue;
          known.add(place);
          steps.add(place, step);
        }
        const inOrder = [...known].sort((a, b) => a.step - b.step);
        expect(steps.records()).toEqual(inOrder.map(({ record }) => record));
        expect(steps.isEmpty).toBe(known.size === 0);
      }),
    );
  });
});
