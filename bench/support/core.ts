import { groupId, nodeId } from "../../src/core/model/ids.ts";
import type { JobSpec } from "../../src/core/model/job/job.ts";
import type { Power } from "../../src/core/model/node/power.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { describeRefusal } from "../../src/core/scheduler/explain/describe.ts";
import { nextPlacement, type PlanPolicy } from "../../src/core/scheduler/plan.ts";
import { createPolicy } from "../../src/core/scheduler/policy.ts";
import { checkMove } from "../../src/core/state/check-move.ts";
import type { Command, CommandOf } from "../../src/core/state/command.ts";
import { decide } from "../../src/core/state/decide.ts";
import { placeTask } from "../../src/core/state/decide/tasks/place-task.ts";
import { State } from "../../src/core/state/state.ts";
import { limits } from "../../src/limits.ts";

const SESSION = 1;
const GIB = 1024 ** 3;

/** The state and the planner as the control loop drives them, without the rest. */
export class Core {
  readonly #state = new State();
  readonly #policy: PlanPolicy;

  constructor(policy: string) {
    this.#policy = createPolicy({ policy }, () => 0);
  }

  connect(
    at: number,
    {
      cluster,
      cpus,
      power,
    }: { readonly cluster: string; readonly cpus: number; readonly power?: Power },
  ): void {
    this.#do({
      kind: "connect-node",
      nodeId: nodeId(`n${at}`),
      cluster,
      agentKeyHash: "hash",
      bootId: "boot",
      agentVersion: "bench",
      capacity: { cpu: cpus * 1_000, memory: 256 * GIB },
      labels: {},
      power,
      runs: [],
      session: SESSION,
      nowMs: 0,
    });
  }

  limitGroup(id: string, runningTasksMax: number): void {
    this.#do({ kind: "put-group", id: groupId(id), runningTasksMax, by: "bench" });
  }

  submit(specs: readonly JobSpec[]): void {
    const submissions = specs.map((spec) => ({ spec, idempotencyKey: undefined }));
    this.#do({ kind: "submit-jobs", submissions, by: "bench", nowMs: 0 });
  }

  end({ jobId, index, attempt, state }: Task): void {
    if (!("nodeId" in state) || state.nodeId === undefined) return;
    const run = { jobId, index, attempt };
    const outcome = { kind: "succeeded" } as const;
    const event = { kind: "ended", run, startedAtMs: 0, endedAtMs: 0, outcome } as const;
    const report = { nodeId: state.nodeId, session: SESSION, events: [event], nowMs: 0 };
    this.#do({ kind: "report-runs", ...report });
  }

  /** Places everything that fits now. */
  place(): Task[] {
    const placed: Task[] = [];
    const bounds = {
      candidatesMax: limits.candidatesPerPlacementMax,
      wakeChecksMax: limits.wakeChecksPerRoundMax,
      nowMs: 0,
    };
    for (;;) {
      const next = nextPlacement(this.#state, this.#policy, bounds);
      if (next === undefined) return placed;
      const outcome = placeTask(this.#state, next, 0);
      if (outcome.kind === "refused") throw new Error(describeRefusal(outcome.refusal));
      for (const change of outcome.changes) {
        if (change.table === "task") {
          checkMove(this.#state, change.row);
          placed.push(change.row);
        }
        this.#state.apply(change);
      }
    }
  }

  #do<K extends Command["kind"]>(command: CommandOf<K>): void {
    for (const change of decide(this.#state, command).changes) this.#state.apply(change);
  }
}
