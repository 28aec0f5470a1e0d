import { beforeEach, describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";
import { jobId } from "../../../model/ids.ts";

let world: World;
const submit = (spec: Partial<JobSpecInput>): void => {
  const submissions = [{ spec: aSpec(spec), idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, nowMs: world.nowMs });
};
const placed = (): string[] =>
  world.plan().map(({ jobId: id, index, attempt }) => `${id}.${index}#${attempt}`);

beforeEach(() => {
  world = new World();
  world.do({ kind: "connect-node", ...aHello("n1") });
});

describe("an array with a limit of tasks at once", () => {
  test("has no more tasks active, and places the next when one ends", () => {
    submit({ array: "0-9%2" });
    expect(placed()).toEqual(["1.0#1", "1.1#1"]);
    world.report("n1", [1, 1, 1], 0);
    expect(placed()).toEqual(["1.2#1"]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("does not keep others from the nodes, also after a restart", () => {
    submit({ array: "0-9%1" });
    submit({ array: "0-1" });
    expect(placed()).toEqual(["1.0#1", "2.0#1", "2.1#1"]);
    world.restart();
    expect(placed()).toEqual([]);
    world.report("n1", [1, 0, 1], 0);
    expect(placed()).toEqual(["1.1#1"]);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test("counts a task again that is retried", () => {
    submit({ array: "0-2%1", retries: { max: 1, backoffMs: 0 } });
    expect(placed()).toEqual(["1.0#1"]);
    world.report("n1", [1, 0, 1], 1);
    expect(placed()).toEqual(["1.0#2"]);
  });

  test.each(["0-9%0", "0-9%", "0-9%1%2", "%2"])("%s is rejected", (array) => {
    expect(() => submit({ array })).toThrow("array");
  });
});

describe("a job that begins later", () => {
  test("is placed when its time has come, also after a restart", () => {
    submit({ beginAtMs: world.nowMs + 5_000 });
    expect(placed()).toEqual([]);
    expect(world.state.queue.nextReleaseMs()).toBe(world.nowMs + 5_000);
    world.flush();
    world.restart();
    world.nowMs += 4_999;
    expect(placed()).toEqual([]);
    world.nowMs += 1;
    expect(placed()).toEqual(["1.0#1"]);
    expect(checkState(world.state)).toEqual([]);
  });

  test("waits for its dependencies, too", () => {
    submit({ resources: { cpu: 4 } });
    submit({ beginAtMs: world.nowMs + 10, dependsOn: [{ on: ["1"] }] });
    expect(placed()).toEqual(["1.0#1"]);
    world.nowMs += 20;
    expect(placed()).toEqual([]);
    world.report("n1", [1, 0, 1], 0);
    world.settle();
    expect(placed()).toEqual(["2.0#1"]);
  });

  test("whose time is past is placed at once", () => {
    submit({ beginAtMs: 1 });
    expect(placed()).toEqual(["1.0#1"]);
  });
});

describe("entries", () => {
  test("are tasks of an array in one row, and are read back", () => {
    submit({ entries: ["a", "b", "c"] });
    expect(world.state.jobs.get(jobId(1))?.progress.counts.pending).toBe(3);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    expect(world.state.jobs.get(jobId(1))?.job.spec.entries).toEqual(["a", "b", "c"]);
  });

  test.each([
    [{ entries: ["a\0"] }, "entries[0]"],
    [{ entries: ["a", "b"], array: "0-2" }, "array: has index 2; there are 2 entries, from 0 on"],
    [{ entries: ["x".repeat(1_048_576)] }, "entries: have 1048577 characters"],
    [{ args: ["x"] }, "args: are for scripts; write the arguments into command"],
  ])("of a wrong type are rejected", (spec, problem) => {
    expect(() => submit(spec)).toThrow(problem);
  });
});
