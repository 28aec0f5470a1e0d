import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { toRunEvent } from "../../agent/translate.ts";
import type { RunUsage } from "../../gen/busbar/v1/agent_pb.ts";
import { ReportsSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import type { Usage } from "../../core/model/job/usage.ts";
import { fitsColumns } from "../../core/state/jobs/columns/usage-columns.ts";
import { readReports } from "./agent-messages.ts";

const readBack = (usage: Usage | undefined): unknown => {
  const id = { jobId: 1, index: 0, attempt: 1 };
  const end = { kind: "exited", exitCode: 0 } as const;
  const event = toRunEvent({
    id,
    report: { kind: "ended", startedAtMs: 1, endedAtMs: 2, end, usage },
  });
  const [read] = readReports(create(ReportsSchema, { seq: 1, events: [event] }));
  return read?.kind === "ended" ? read.usage : "not an end";
};

test("measured usage reaches the core; unknown numbers stay unknown", () => {
  const all = { cpuUs: 1, wallUs: 2, maxRssKib: 3, majorFaults: 0 };
  expect(readBack(all)).toEqual(all);
  expect(readBack({ cpuUs: 0 })).toEqual({ cpuUs: 0 });
  expect(readBack(undefined)).toBeUndefined();
});

test("an impossible number counts as unknown, and the end is not lost", () => {
  const bad: Pick<RunUsage, "cpuUs" | "wallUs" | "maxRssKib" | "majorFaults"> = {
    cpuUs: Number.NaN,
    wallUs: -1,
    maxRssKib: limits.usageMax * 2,
    majorFaults: Number.POSITIVE_INFINITY,
  };
  expect(readBack(bad as Usage)).toBeUndefined();
  expect(readBack({ ...bad, cpuUs: 1.4 } as Usage)).toEqual({ cpuUs: 1 });
});

test("a long time is stored in whole milliseconds, so that it fits the columns", () => {
  const exact = limits.usageExactUsMax;
  expect(readBack({ cpuUs: exact, wallUs: exact + 1 })).toEqual({
    cpuUs: exact,
    wallUs: Math.round((exact + 1) / 1_000) * 1_000,
  });
  expect(fitsColumns({ cpuUs: exact, wallUs: Math.round((exact + 1) / 1_000) * 1_000 })).toBe(true);
});
