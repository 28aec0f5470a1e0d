import { create } from "@bufbuild/protobuf";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { RunSpecSchema } from "../gen/busbar/v1/agent_pb.ts";
import { toRunRequest } from "./translate.ts";

// The words that executors add for a script: its path, after its interpreter and an argument of that.
const given = [["/bin/echo"], ["/bin/echo", "path"], ["/bin/echo", "-e -u", "path"]];
test.each(given.map((words) => [words]))("the arguments of a script follow %j", (words) => {
  const spec = create(RunSpecSchema, { job: 7, script: "#!/bin/echo\n", args: ["a b", "", "$c"] });
  const { before = [] } = toRunRequest(
    spec,
    { jobId: 7, index: 0, attempt: 1 },
    {
      node: "n",
      cluster: "c",
    },
  );
  const [program = "", ...rest] = [...before, ...words];
  const { stdout } = spawnSync(program, rest, { encoding: "utf8" });
  expect(stdout).toBe(`${[...words.slice(1), "a b", "", "$c"].join(" ")}\n`);
});
