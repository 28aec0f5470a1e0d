import { afterEach, beforeEach, expect, test } from "vitest";
import { Site } from "../support/busbar.ts";

let site: Site;
beforeEach(() => void (site = new Site()));
afterEach(() => site.close());

const ALLOCATE = ["dd", "if=/dev/zero", "of=/dev/null", "bs=300M", "count=1"] as const;

test("the requests of a task reach its agent, which enforces them", async () => {
  await site.startServer();
  await site.startAgent("n1", "--enforce", "process-memory");
  const small = await site.run("run", "--memory", "32MiB", "--", ...ALLOCATE);
  expect(small.code).toBe(1);
  expect(small.stderr).toMatch(/memory exhausted/);
  const large = await site.run("run", "--memory", "600MiB", "--", ...ALLOCATE);
  expect(large.code).toBe(0);
  expect((await site.run("nodes", "show", "n1")).stdout).toMatch(
    /process-memory \(enforced=true, by=RLIMIT_DATA\)/,
  );
});
