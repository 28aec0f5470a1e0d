import { expect, test } from "vitest";
import { limits } from "../limits.ts";
import { run, useAgentBed, wire } from "./testing/agent-bed.ts";

const bed = useAgentBed();

/** Progress that the server received, message by message: "7.0.1 40 step 3". */
const told = (): string[][] =>
  bed.server.last
    .all("progress")
    .map(({ runs }) =>
      runs.map(({ id, progress }) =>
        `${id?.job}.${id?.index}.${id?.attempt} ${progress?.percent} ${progress?.message}`.trim(),
      ),
    );

test("the first report goes at once, later ones together once a second, of each run the newest", async () => {
  await bed.welcomed();
  bed.sendStarts(7, [run(7, 0), run(7, 1)], 2);
  await bed.clock.pass(100);
  bed.executor.progress(run(7, 0), { percent: 1, message: "a" });
  await bed.clock.pass(0);
  expect(told()).toEqual([["7.0.1 1 a"]]);
  for (let percent = 2; percent <= 90; percent++) {
    bed.executor.progress(run(7, 0), { percent, message: "" });
    bed.executor.progress(run(7, 1), { percent, message: "b" });
    await bed.clock.pass(10);
  }
  expect(told()).toEqual([["7.0.1 1 a"]]);
  await bed.clock.pass(limits.progressTellMs);
  expect(told()).toEqual([["7.0.1 1 a"], ["7.0.1 90", "7.1.1 90 b"]]);
  await bed.clock.pass(10 * limits.progressTellMs);
  expect(told()).toHaveLength(2);
});

test("a new session sends the progress of active runs again; an end carries the last progress", async () => {
  await bed.welcomed();
  bed.sendStarts(7, [run(7, 0), run(7, 1)], 2);
  await bed.clock.pass(100);
  bed.executor.progress(run(7, 0), { percent: 10, message: "" });
  bed.executor.progress(run(7, 1), { percent: 20, message: "" });
  bed.executor.progress(run(9), { percent: 20, message: "nobody knows this run" });
  await bed.clock.pass(0);
  expect(told()).toEqual([["7.0.1 10", "7.1.1 20"]]);
  bed.server.last.drop();
  await bed.clock.pass(limits.reconnectDelayMsMax);
  bed.executor.progress(run(7, 1), { percent: 30, message: "meanwhile" });
  const end = { kind: "exited", exitCode: 0 } as const;
  const progress = { percent: 55, message: "last word" };
  bed.executor.report(run(7, 0), { kind: "ended", startedAtMs: 1, endedAtMs: 2, end, progress });
  bed.server.last.welcome();
  await bed.clock.pass(100);
  expect(told()).toEqual([["7.1.1 30 meanwhile"]]);
  const events = bed.server.last.all("reports").flatMap((reports) => reports.events);
  const ended = events.find(({ event }) => event.case === "ended");
  expect(ended?.id).toMatchObject(wire(run(7, 0)));
  expect(ended?.event.value).toMatchObject({ progress });
});

test("an older server receives no progress", async () => {
  bed.start();
  bed.server.last.welcome(true, false);
  bed.sendStarts(7, [run(7)]);
  await bed.clock.pass(100);
  bed.executor.progress(run(7), { percent: 10, message: "" });
  await bed.clock.pass(5 * limits.progressTellMs);
  expect(told()).toEqual([]);
});

test("progress of many runs is split into messages of bounded size", async () => {
  await bed.welcomed();
  const many = Array.from({ length: limits.progressRunsPerMessageMax + 1 }, (_, at) => run(7, at));
  bed.sendStarts(7, many, many.length);
  await bed.clock.pass(5_000);
  for (const id of many) bed.executor.progress(id, { percent: 10, message: "" });
  await bed.clock.pass(limits.progressTellMs);
  expect(told().map(({ length }) => length)).toEqual([limits.progressRunsPerMessageMax, 1]);
});
