import { expect, test } from "vitest";
import { LoopMetrics } from "./loop-metrics.ts";

test("99 of 100 commits are within the percentile, which never exceeds the longest commit", () => {
  const metrics = new LoopMetrics(() => undefined);
  expect(metrics.commitMsP99).toBe(0);
  metrics.committed(1.2);
  expect(metrics.commitMsP99).toBe(1.2);
  for (let count = 0; count < 198; count++) metrics.committed(0.4);
  metrics.committed(900);
  expect(metrics.commitMsP99).toBeLessThanOrEqual(0.5);
  expect(metrics.commitMsMax).toBe(900);
});
