import { describe, expect, test } from "vitest";
import { aSpec } from "../../tests/support/builders.ts";
import { jobId, nodeId, revision } from "../core/model/ids.ts";
import type { Job } from "../core/model/job.ts";
import type { Task } from "../core/model/task.ts";
import { freshProgress } from "../core/state/progress.ts";
import { State } from "../core/state/state.ts";
import type { Commit } from "./open-batch.ts";
import type { OperationContext } from "./create-operations.ts";
import { watchEvents } from "./watch-events.ts";
import { WatchHub } from "./watch-hub.ts";

const job: Job = {
  id: jobId(1),
  spec: aSpec(),
  submittedAtMs: 0,
  submittedBy: "test",
  idempotencyKey: undefined,
  waitsFor: undefined,
  closed: { kind: "expired", atMs: 5, by: "busbar", reason: "its deadline in the queue passed" },
};

const aTask = (state: Task["state"]): Task => ({
  jobId: job.id,
  index: 0,
  attempt: 1,
  failures: 0,
  losses: 0,
  past: [],
  state,
});

describe("watch events", () => {
  test("a task that one commit moved several times is told once, as it ended", async () => {
    const rows = [
      aTask({ kind: "waiting", notBeforeMs: 1 }), // beside the closed job this would be "expired"
      aTask({ kind: "assigned", nodeId: nodeId("w1"), assignedAtMs: 2 }),
      aTask({
        kind: "failed",
        nodeId: nodeId("w1"),
        startedAtMs: 3,
        endedAtMs: 4,
        failure: { kind: "exited", exitCode: 1 },
      }),
    ];
    const commit: Commit = {
      revision: revision(1),
      changes: rows.map((row) => ({ table: "task", row })),
      jobs: new Map([[job.id, { job, progress: freshProgress(1), only: rows.at(-1) }]]),
      loads: new Map(),
    };
    const hub = new WatchHub(revision(0), () => undefined);
    hub.publish(commit);
    const loop = { peek: (look: (state: State) => unknown) => look(new State()) };
    const context = { loop, hub } as unknown as OperationContext;
    const query = { afterRevision: 0, kinds: ["task"] } as const;
    const states: string[] = [];
    for await (const event of watchEvents(context, query, new AbortController().signal)) {
      if (event.kind === "task") states.push(event.task.state);
      if (event.kind === "task" && event.task.state === "failed") break;
    }
    expect(states).toEqual(["failed"]);
  });
});
