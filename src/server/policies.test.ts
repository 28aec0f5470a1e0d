import { expect, test } from "vitest";
import { FakeAgent } from "../testing/fake-agent.ts";
import { aPlane } from "../testing/plane.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { eventually } from "../testing/eventually.ts";
import type { PolicyNames } from "../core/scheduler/policy.ts";

const NODES = ["a", "b", "c", "d"];

/** The nodes of 40 tasks, and the seeds that the server logged at start. */
async function placed(policies: PolicyNames): Promise<{ nodes: string[]; seeds: unknown[] }> {
  const seeds: unknown[] = [];
  const info = (fields: Readonly<Record<string, unknown>>): void => {
    if ("seed" in fields) seeds.push(fields["seed"]);
  };
  const { plane } = await aPlane({ policies, logger: { ...silentLogger, info } });
  for (const name of NODES) {
    const agent = new FakeAgent(plane);
    agent.hello(name, { capacity: { cpu: 100_000 } });
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
  }
  const spec = { command: ["true"], array: "0-39" };
  await plane.operations.submitJobs([{ spec }]);
  const { tasks } = await plane.operations.listTasks("1", [], {});
  await plane.close();
  return { nodes: tasks.map(({ node }) => node ?? ""), seeds };
}

test("the server logs the seed of random placements, and the same seed gives the same ones", async () => {
  const own = await placed({ policy: "random" });
  expect(own.seeds).toEqual([0]); // drawn from a source that gives 0
  const again = await placed({ policy: "random", seed: 0 });
  expect(again).toEqual(own);
  const other = await placed({ policy: "random", seed: 1 });
  expect(other.seeds).toEqual([1]);
  expect(other.nodes).not.toEqual(own.nodes);
  expect(new Set(own.nodes)).toEqual(new Set(NODES));
});

test("round-robin continues after the last node, and logs no seed", async () => {
  const { nodes, seeds } = await placed({ policy: "round-robin" });
  expect(nodes).toEqual(Array.from({ length: 40 }, (_, at) => NODES[at % 4]));
  expect(seeds).toEqual([]);
});
