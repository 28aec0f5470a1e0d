import { expect, test } from "vitest";
import { cpuTimeColumn } from "./values.ts";

test("CPU seconds of CSV have no more digits than were measured", () => {
  const usage = { cpuMs: 700.1 + 600.2 + 0.00001 };
  expect(cpuTimeColumn("CPU").csv?.({ usage })).toBe("1.3003");
});
