import { expect, test } from "vitest";

import { limits } from "../../../limits.ts";
import type { QueuedRuns } from "../../../ports/executor.ts";
import { QueueTeller } from "./queue-teller.ts";

const run = (jobId: number) => ({ jobId, index: 0, attempt: 1 });
function open(queued: () => readonly QueuedRuns[]) {
  const told: string[] = [];
  const teller = new QueueTeller({ whyQueued: queued }, (groups) => {
    told.push(groups.map(({ reason, runs }) => `${reason} x${runs.length}`).join(", "));
  });
  return { teller, told };
}

test("reasons are sent when they change, to servers that ask for them", () => {
  let queued: readonly QueuedRuns[] = [{ reason: "slurm: Priority", runs: [run(1), run(2)] }];
  const { teller, told } = open(() => queued);
  teller.tellChanges();
  expect(told).toEqual([]);
  teller.welcomed(true);
  for (let times = 0; times < 3; times += 1) teller.tellChanges();
  expect(told).toEqual(["slurm: Priority x2"]);
  queued = [];
  teller.tellChanges();
  expect(told).toEqual(["slurm: Priority x2", ""]);
});

test("of very many reasons only the first are sent", () => {
  const runs = Array.from({ length: limits.queuedRunsToldMax + 5 }, (_, at) => run(at + 1));
  const { teller, told } = open(() => [
    { reason: "a", runs },
    { reason: "b", runs },
  ]);
  teller.welcomed(true);
  teller.tellChanges();
  expect(told).toEqual([`a x${limits.queuedRunsToldMax}`]);
});
