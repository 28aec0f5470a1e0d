import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LowerJob } from "../../lower/scheduler.ts";
import { INDEX } from "../../lower/scheduler.ts";
import { jobNameOf, markedBy } from "./job-name.ts";
import { submitArguments } from "./submit-arguments.ts";

const shape = {
  nodes: undefined,
  processes: 1,
  coresPerProcess: 0,
  gpusPerProcess: 0,
  memoryBytesPerProcess: 0,
  isExclusive: false,
};
const job = (over: Partial<LowerJob> = {}): LowerJob => ({
  marker: "busbar:me:17.0.1",
  name: "train",
  script: "#!/bin/sh\n",
  directory: "/runs/17.0.1",
  timeLimitMs: undefined,
  killGraceMs: 5_000,
  shape,
  launch: "each-process",
  indexes: undefined,
  after: [],
  stdout: "/runs/17.0.1/stdout",
  stderr: "/runs/17.0.1/stderr",
  ...over,
});
const files = ["--cwd=/runs/17.0.1", "--output=/runs/17.0.1/stdout", "--error=/runs/17.0.1/stderr"];
const name = "--job-name=train busbar:me:17.0.1";

describe("the arguments of a submission", () => {
  test("one process", () => {
    expect(submitArguments(job(), "/s", {})).toEqual([
      "submit",
      name,
      ...files,
      "--ntasks=1",
      "/s",
    ]);
  });

  test("all options", () => {
    const all = job({
      shape: { ...shape, nodes: 1, coresPerProcess: 4, gpusPerProcess: 2, isExclusive: true },
      timeLimitMs: 90_500.4,
      after: ["f1", "f2"],
    });
    const site = { partition: "debug", account: "it's", extraArgs: ["--urgency=20"] };
    expect(submitArguments(all, "/s", site)).toEqual([
      "submit",
      name,
      ...files,
      "--nodes=1",
      "--ntasks=1",
      "--cores-per-task=4",
      "--gpus-per-task=2",
      "--exclusive",
      "--time-limit=90.501s",
      "--dependency=afterok:f1",
      "--dependency=afterok:f2",
      "--queue=debug",
      '--setattr=system.bank="it\'s"',
      "--urgency=20",
      "/s",
    ]);
  });

  test("several processes, or a script that starts its own, become an instance", () => {
    const many = { ...shape, nodes: 2, processes: 4, coresPerProcess: 3 };
    expect(submitArguments(job({ shape: many }), "/s", {}).slice(0, 8)).toEqual([
      "batch",
      name,
      ...files,
      "--nodes=2",
      "--nslots=4",
      "--cores-per-slot=3",
    ]);
    expect(submitArguments(job({ launch: "once" }), "/s", {}).slice(0, 6)).toEqual([
      "batch",
      name,
      ...files,
      "--nslots=1",
    ]);
  });

  test("never more nodes than processes; exclusive nodes are counted", () => {
    const nodesOf = (over: Partial<LowerJob["shape"]>) =>
      submitArguments(job({ shape: { ...shape, ...over } }), "/s", {}).find((word) =>
        word.startsWith("--nodes"),
      );
    expect(nodesOf({ nodes: 4, processes: 3 })).toBe("--nodes=3");
    expect(nodesOf({ isExclusive: true, processes: 2 })).toBe("--nodes=2");
    expect(nodesOf({ processes: 2 })).toBeUndefined();
  });

  test("an array", () => {
    const words = submitArguments(
      job({ indexes: [0, 1, 2, 7, 9, 10], stdout: `/a/${INDEX}/out`, stderr: `/a/${INDEX}/err` }),
      "/s",
      {},
    );
    expect(words).toContain("--cc=0-2,7,9-10");
    expect(words).toContain("--output=/a/{cc}/out");
    expect(words).toContain("--job-name=train busbar:me:17.0.1[{cc}]");
  });
});

describe("markers in names", () => {
  test("a marker is found again, whatever the name of the job", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }).map((text) => `busbar:${text}`),
        fc.string({ unit: "grapheme" }),
        fc.option(fc.nat(), { nil: undefined }),
        (marker, called, index) => {
          const indexes = index === undefined ? undefined : [index];
          const given = jobNameOf({ marker, name: called, indexes });
          expect(given.replaceAll("{cc}", "")).not.toMatch(/[{}\n]/);
          const listed = given.replace("{cc}", String(index));
          expect(markedBy(listed)).toEqual({ marker, index });
        },
      ),
    );
  });

  test("names of other jobs have none", () => {
    for (const other of ["", "sleep", "busbar", "my busbar job", "x %E0%A4%A", "busbar:%E0%A4%A"]) {
      expect(markedBy(other)).toBeUndefined();
    }
  });
});
