import { expect, test } from "vitest";

import { runProgram } from "./run-program.ts";

test("a program that runs too long is killed with its children, which hold its output open", async () => {
  const end = await runProgram("/bin/sh", ["-c", "sleep 600 & sleep 600"], { timeoutMs: 300 });
  expect(end).toMatchObject({ code: 137, signal: "SIGKILL" });
});

test("the result of a program that does not exist says so", async () => {
  const end = await runProgram("/nowhere/runc", [], { timeoutMs: 1_000 });
  expect(end.code).toBe(127);
  expect(end.stderr).toContain("/nowhere/runc");
});
