import { describe, expect, test } from "vitest";
import type { TaskFailure } from "../../core/model/job/task.ts";
import { TASK_STATES, type TaskStateName } from "../../core/model/progress.ts";
import { type GoScheduleState, taskStateOf, workerStateOf } from "./task-state.ts";

describe("a task is", () => {
  const cases: readonly [GoScheduleState, readonly TaskStateName[]][] = [
    ["pending", ["pending", "waiting", "offered", "held"]],
    ["scheduled", ["accepted", "assigned", "running", "stopping"]],
    ["done", ["succeeded"]],
    ["dead", ["cancelled", "expired", "skipped"]],
  ];
  for (const [word, states] of cases) {
    test(`${word} when it is ${states.join(" or ")}`, () => {
      for (const state of states) expect(taskStateOf({ state })).toBe(word);
    });
  }

  test("in one of these states, or failed", () => {
    const named = cases.flatMap(([, states]) => states);
    expect([...named, "failed"].toSorted()).toEqual(TASK_STATES.toSorted());
  });
});

describe("a task that failed is", () => {
  const cases: readonly [GoScheduleState, readonly TaskFailure["kind"][]][] = [
    ["done", ["exited", "signalled", "could-not-start"]],
    ["dead", ["time-limit", "vanished", "lost"]],
  ];
  for (const [word, failures] of cases) {
    test(`${word} when it ${failures.join(" or ")}`, () => {
      for (const failure of failures) {
        expect(taskStateOf({ state: "failed", failure })).toBe(word);
      }
    });
  }
});

test("a drained or unhealthy node counts as connected", () => {
  expect(workerStateOf).toEqual({
    connected: "connected",
    draining: "connected",
    drained: "connected",
    unhealthy: "connected",
    quarantined: "connected",
    disconnected: "disconnected",
    lost: "disconnected",
  });
});
