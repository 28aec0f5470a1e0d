import { describe, expect, test } from "vitest";
import { parseJobLine } from "./job-line.ts";

const TIMES = "1700000000.5|1700000009.25|1700000010.0|";
const NEVER = "0.0|1700000009.25|1700000010.0|";
const stateOf = (rest: string) => parseJobLine(`fAB1|${rest}`)?.state;

describe("the fields of a job's line", () => {
  const table: readonly (readonly [string, unknown])[] = [
    ["DEPEND|||0.0|0.0|0.0|||", { kind: "queued", reason: "it waits for other jobs" }],
    ["PRIORITY|||0.0|0.0|0.0|||", { kind: "queued", reason: "state PRIORITY" }],
    ["SCHED|||0.0|0.0|0.0|no cores||", { kind: "queued", reason: "no cores" }],
    ["SOMETHING||||||||", { kind: "queued", reason: "state SOMETHING" }],
    ["RUN|||1700000000.5|0.0|0.0|||", { kind: "running", startedAtMs: 1_700_000_000_500 }],
    [`CLEANUP||0|${TIMES}||`, { kind: "running", startedAtMs: 1_700_000_000_500 }],
  ];
  for (const [rest, want] of table) test(rest, () => expect(stateOf(rest)).toEqual(want));
});

describe("how a job ended", () => {
  const table: readonly (readonly [string, unknown])[] = [
    [`COMPLETED|0|${TIMES}||`, { kind: "exited", exitCode: 0 }],
    [`FAILED|768|${TIMES}||`, { kind: "exited", exitCode: 3 }],
    [`FAILED|35072|${TIMES}||`, { kind: "exited", exitCode: 137 }],
    [`FAILED|9|${TIMES}||`, { kind: "signalled", signal: "SIGKILL" }],
    [`FAILED|32512|${TIMES}|exec|x: not found`, { kind: "exited", exitCode: 127 }],
    [`FAILED||${TIMES}|exec|task | gone`, { kind: "vanished", message: "task | gone" }],
    [`FAILED||${TIMES}||`, { kind: "vanished", message: "Flux lost it" }],
    [`FAILED|36608|${TIMES}|node-failure|n1`, { kind: "vanished", message: "n1" }],
    [`FAILED||${NEVER}|dependency|afterok: f1`, { kind: "skipped", message: "afterok: f1" }],
    [`FAILED||${NEVER}|alloc|unsatisfiable`, { kind: "could-not-start", message: "unsatisfiable" }],
    [`FAILED||${NEVER}||`, { kind: "could-not-start", message: "Flux did not start it" }],
    [`CANCELED||${NEVER}|cancel|`, { kind: "cancelled" }],
    [`CANCELED|36608|${TIMES}|cancel|by me`, { kind: "cancelled" }],
    [`TIMEOUT|36352|${TIMES}|timeout|`, { kind: "time-limit", signal: undefined }],
  ];
  for (const [rest, want] of table) {
    test(rest, () => {
      const startedAtMs = rest.includes(NEVER) ? undefined : 1_700_000_000_500;
      const endedAtMs = 1_700_000_009_250;
      expect(stateOf(`INACTIVE|${rest}`)).toEqual({
        kind: "ended",
        startedAtMs,
        endedAtMs,
        end: want,
      });
    });
  }
});

test("ids are the same with either letter; other lines are ignored", () => {
  expect(parseJobLine("ƒAB1|SCHED||||||||")?.id).toBe("fAB1");
  for (const line of ["", "the rest of a note", "a|b", "JOBID|ST||||||||", "x y|SCHED||||||||"]) {
    expect(parseJobLine(line)).toBeUndefined();
  }
});
