import { afterEach, expect, test, vi } from "vitest";
import { limits } from "../../limits.ts";
import { setPoolThreads } from "./pool-threads.ts";

afterEach(() => vi.unstubAllEnvs());

test("the pool gets threads for commits beside those for slow work, unless an operator chose their number", () => {
  vi.stubEnv("UV_THREADPOOL_SIZE", undefined);
  setPoolThreads();
  expect(process.env["UV_THREADPOOL_SIZE"]).toBe(String(limits.poolThreads));
  vi.stubEnv("UV_THREADPOOL_SIZE", "9");
  setPoolThreads();
  expect(process.env["UV_THREADPOOL_SIZE"]).toBe("9");
});
