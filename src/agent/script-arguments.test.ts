import { create } from "@bufbuild/protobuf";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { RunSpecSchema } from "../gen/busbar/v1/agent_pb.ts";
import { toRunRequest } from "./translate.ts";

const script = "#!/bin/echo\n";
const args = ["a b", "", "$c"];
const requestOf = (container?: { readonly image: string }) => {
  const spec = create(RunSpecSchema, { job: 7, script, args, nice: 5, container });
  return toRunRequest(spec, { jobId: 7, index: 0, attempt: 1 }, { node: "n", cluster: "c" });
};

// The words that executors add for a script: its path, after its interpreter and an argument of that.
const given = [["/bin/echo"], ["/bin/echo", "path"], ["/bin/echo", "-e -u", "path"]];
test.each(given.map((words) => [words]))("the arguments of a script follow %j", (words) => {
  const { before = [], work } = requestOf();
  expect(work).toEqual({ kind: "script", text: script });
  const [program = "", ...rest] = [...before, ...words];
  const { stdout } = spawnSync(program, rest, { encoding: "utf8" });
  expect(stdout).toBe(`${[...words.slice(1), ...args].join(" ")}\n`);
});

test("inside a container a script has its arguments itself: the words before start the container", () => {
  const { before = [], work } = requestOf({ image: "tool:1" });
  expect(before.join(" ")).not.toContain("a b");
  expect(before.length).toBeGreaterThan(0);
  expect(work).toEqual({ kind: "script", text: script, args });
});
