import { create } from "@bufbuild/protobuf";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { RunSpecSchema } from "../gen/busbar/v1/agent_pb.ts";
import { toRunRequest } from "./translate.ts";

const ID = { jobId: 7, index: 0, attempt: 1 };
const PLACE = { node: "n", cluster: "c" };

/** Runs the words that an executor would run: here a program that prints its niceness. */
function run(nice: number, uid?: number) {
  const spec = create(RunSpecSchema, { job: 7, argv: ["nice"], nice });
  const { before = [], work } = toRunRequest(spec, ID, PLACE);
  const [program = "", ...rest] = [...before, ...(work.kind === "command" ? work.argv : [])];
  const as = uid === undefined ? {} : { uid, cwd: "/" };
  const { stdout, stderr, status } = spawnSync(program, rest, { encoding: "utf8", ...as });
  return { stdout: stdout.trim(), stderr, status };
}

const own = Number(spawnSync("nice", { encoding: "utf8" }).stdout);
const isRoot = process.getuid?.() === 0;

test("a run adds its spec's niceness to the agent's own", () => {
  expect(run(0).stdout).toBe(`${own}`);
  expect(run(5).stdout).toBe(`${Math.min(19, own + 5)}`);
});

test.runIf(isRoot)("an agent of root can go below 0", () => {
  expect(run(-20)).toMatchObject({ stdout: `${Math.max(-20, own - 20)}`, status: 0 });
});

test("an agent without root that cannot go below 0 says why", () => {
  const { stdout, stderr, status } = run(-20, isRoot ? 65_534 : undefined);
  expect([stdout, status]).toEqual(["", 126]);
  expect(stderr).toContain("nice -20: only an agent that runs as root can go below 0");
});
