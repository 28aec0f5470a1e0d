import { create } from "@bufbuild/protobuf";
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { RunSpecSchema } from "../gen/busbar/v1/agent_pb.ts";
import { toRunRequest } from "./translate.ts";

const ID = { jobId: 7, index: 0, attempt: 1 };
const PLACE = { node: "n", cluster: "c" };

/** Runs what an executor would: here a program that prints its niceness. */
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

test("a run is as nice as its spec says, beyond the agent's own", () => {
  expect(run(0).stdout).toBe(`${own}`);
  expect(run(5).stdout).toBe(`${Math.min(19, own + 5)}`);
});

test.runIf(isRoot)("below 0 root's agents can go", () => {
  expect(run(-20)).toMatchObject({ stdout: `${Math.max(-20, own - 20)}`, status: 0 });
});

test("below 0 an agent without root says why it cannot", () => {
  const { stdout, stderr, status } = run(-20, isRoot ? 65_534 : undefined);
  expect([stdout, status]).toEqual(["", 126]);
  expect(stderr).toContain("nice -20: only an agent that runs as root can go below 0");
});
