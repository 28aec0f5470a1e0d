import { expect, test } from "vitest";
import { cpuTimeColumn, usage } from "./values.ts";

test("CPU seconds of CSV have no more digits than were measured", () => {
  const usage = { cpuMs: 700.1 + 600.2 + 0.00001 };
  expect(cpuTimeColumn("CPU").csv?.({ usage })).toBe("1.3003");
});

test("memory and disk have units, other resources are numbers", () => {
  const node = {
    used: { disk: 1024 ** 3 },
    capacity: { disk: 32 * 1024 ** 3, memory: 2048, fpga: 2048 },
  };
  expect(usage("disk", node)).toBe("1GiB/32GiB");
  expect(usage("memory", node)).toBe("0B/2KiB");
  expect(usage("fpga", node)).toBe("0/2048");
});
