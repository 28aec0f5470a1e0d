import { expect, test } from "vitest";
import type { JobRow } from "../rows.ts";
import { renderJob } from "./render-job.ts";

test("times of a spec are shown as such, and of many entries the first", () => {
  const entries = Array.from({ length: 1_000 }, (_, at) => `line ${at}`);
  const spec = {
    name: "x",
    group: "g",
    priority: 0,
    beginAtMs: Date.UTC(2026, 10, 18, 7),
    hangUpMs: 90_000,
    entries,
  };
  const job = { id: "17", state: "pending", spec, taskTotal: 1 } as unknown as JobRow;
  const text = renderJob(job, { width: undefined, colour: false, nowMs: 100_000_000 });
  expect(text).toMatch(/^Begin at: +2026-11-18 07:00:00Z$/m);
  expect(text).toMatch(/^Hang up: +1m30s$/m);
  expect(text).toMatch(/^Entries: +\["line 0","line 1",.{100,190}…$/m);
});
