import { expect, test } from "vitest";
import type { Power } from "../core/model/node/power.ts";
import { limits } from "../limits.ts";
import { run, useAgentBed, wire } from "./testing/agent-bed.ts";

const bed = useAgentBed();

test("Hello carries the node's power for shares; the agent sends changes at most once a second", async () => {
  let power: Power = {
    watts: 5,
    isBare: true,
    changes: [{ atMs: 9_000, watts: 22 }],
    tickMs: 1_000,
  };
  bed.start({ power: () => power });
  const [hello] = bed.server.last.all("hello");
  expect(hello?.power).toMatchObject({
    watts: 5,
    needsNoCommand: true,
    greatestShare: 0,
    tickMs: 1_000,
    changes: [{ atMs: 9_000, watts: 22 }],
  });
  bed.server.last.welcome();
  await bed.clock.pass(limits.powerTellMs);
  expect(bed.server.last.all("power")).toEqual([]); // equal to the last power that was sent
  for (let watts = 6; watts <= 30; watts++) {
    power = { watts };
    bed.agent.powerChanged();
    await bed.clock.pass(100);
  }
  await bed.clock.pass(limits.powerTellMs);
  const told = bed.server.last.all("power").map(({ watts }) => watts);
  expect(told.at(-1)).toBe(30);
  expect(told.length).toBeLessThanOrEqual(4);
  expect(told.length).toBeGreaterThanOrEqual(2);
});

test("an agent without power sends none, and older servers receive none", async () => {
  await bed.welcomed();
  expect(bed.server.last.all("hello")[0]?.power).toBeUndefined();
  bed.agent.powerChanged();
  await bed.clock.pass(5_000);
  expect(bed.server.last.all("power")).toEqual([]);
});

test("the executor receives the energy of a share, and its command too", async () => {
  await bed.welcomed();
  const spec = { job: 7, argv: ["work"], arraySize: 0 };
  const shares = [{ id: wire(run(7)), wattSeconds: 400 }];
  const starts = [wire(run(7)), wire(run(7, 1))];
  bed.server.last.send({ case: "work", value: { specs: [spec], starts, shares } });
  await bed.clock.pass(100);
  const [share, other] = bed.executor.started;
  expect(share?.shareWattSeconds).toBe(400);
  expect(share?.env["BUSBAR_SHARE_WATT_SECONDS"]).toBe("400");
  expect(other?.shareWattSeconds).toBeUndefined();
  expect(other?.env).not.toHaveProperty("BUSBAR_SHARE_WATT_SECONDS");
});
