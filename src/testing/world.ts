import { jobId, nodeId } from "../core/model/ids.ts";
import type { Change } from "../core/state/change.ts";
import type {
  Answers,
  AnswerTo,
  Command,
  CommandOf,
  ProgressOutcome,
  RunEvent,
} from "../core/state/command.ts";
import type { ReportedProgress } from "../core/model/job/task-progress.ts";
import { TABLES } from "../core/state/tables/tables.ts";
import { decide } from "../core/state/decide.ts";
import { placeTask } from "../core/state/decide/tasks/place-task.ts";
import { nextQuarantine } from "../core/state/decide/nodes/quarantine.ts";
import { nextServiceStep } from "../core/state/decide/services/step.ts";
import { nextSettlement } from "../core/state/dependencies/settle.ts";
import { checkMove } from "../core/state/check-move.ts";
import { State } from "../core/state/state.ts";
import type { Task } from "../core/model/job/task.ts";
import { nextPlacement } from "../core/scheduler/plan.ts";
import { createPolicy } from "../core/scheduler/policy.ts";
import { limits } from "../limits.ts";
import { describeRefusal } from "../core/scheduler/explain/describe.ts";
import type { FilterChain } from "../core/scheduler/filters/chain.ts";
import { aUsage } from "./a-usage.ts";
import { readBack } from "./check/check-state.ts";

type ByAnyone<C> = C extends { readonly by: string } ? Omit<C, "by"> & { readonly by?: string } : C;

/** The core without a shell around it: commands in, changes out, on a fake clock. */
export class World {
  state: State;
  readonly changes: Change[] = [];
  nowMs = 1_000;
  policy = "spread";
  /** The seed of the policy "random". */
  seed = 0;
  /** An external scheduler assigns shares of jobs with energy. */
  isEnergyExternal = false;
  #flushed = 0;

  /** Filters to use instead of the server's. */
  constructor(filters?: FilterChain) {
    this.state = new State({ filters });
  }

  /** The principal is "tester", unless the command names another. */
  do<K extends Command["kind"]>(command: ByAnyone<CommandOf<K>>): AnswerTo<K> {
    const { changes, answer } = decide(this.state, { by: "tester", ...command } as CommandOf<K>);
    for (const change of changes) this.apply(change);
    return answer;
  }

  apply(change: Change): void {
    if (change.table === "task") checkMove(this.state, change.row);
    this.state.apply(change);
    this.changes.push(change);
  }

  /** All changes so far are stored: from now on, jobs that are pending or ended are folded. */
  flush(): void {
    for (const change of this.changes.slice(this.#flushed)) {
      if (change.table !== "job" || "removed" in change || !this.state.isNewest(change)) continue;
      TABLES.encode(change, (_, value) => this.state.jobs.fold(change.row.id, value ?? ""));
    }
    for (const { job } of this.state.jobs.openRecords()) this.state.jobs.foldEnded(job.id);
    this.#flushed = this.changes.length;
  }

  /** From now on the state is the one that a restarted server loads. */
  restart(): void {
    this.state = readBack(this.changes);
    this.#flushed = this.changes.length;
  }

  /** Releases and skips all decided jobs, and runs steps of services, at most `max`; returns how many. */
  settle(max = Number.POSITIVE_INFINITY): number {
    for (let count = 0; count < max; count++) {
      const change =
        nextSettlement(this.state, this.nowMs) ?? nextQuarantine(this.state, this.nowMs);
      const changes = change === undefined ? nextServiceStep(this.state, this.nowMs) : [change];
      if (changes === undefined) return count;
      for (const one of changes) this.apply(one);
    }
    return max;
  }

  /** Places all tasks that fit, at most `max`; returns the task rows. */
  plan(max = Number.POSITIVE_INFINITY): Task[] {
    this.state.queue.release(this.nowMs);
    const placed: Task[] = [];
    const bounds = {
      candidatesMax: limits.candidatesPerPlacementMax,
      wakeChecksMax: limits.wakeChecksPerRoundMax,
      nowMs: this.nowMs,
    };
    while (placed.length < max) {
      const { policy: name, seed, isEnergyExternal } = this;
      const policy = createPolicy({ policy: name, seed, isEnergyExternal }, () => 0);
      const next = nextPlacement(this.state, policy, bounds);
      if (next === undefined) return placed;
      const outcome = placeTask(this.state, next, this.nowMs);
      if (outcome.kind === "refused") throw new Error(describeRefusal(outcome.refusal));
      for (const change of outcome.changes) {
        this.apply(change);
        if (change.table === "task") placed.push(change.row);
      }
    }
    return placed;
  }

  /** The node's agent, or a caller, reports the progress of a run. */
  progress(
    node: string | undefined,
    [job, index, attempt]: readonly [job: number, index: number, attempt: number],
    progress: ReportedProgress,
  ): ProgressOutcome {
    const run = { jobId: jobId(job), index, attempt };
    const report = { run, nodeId: node === undefined ? undefined : nodeId(node), progress };
    const { nowMs } = this;
    const { outcomes } = this.do({ kind: "report-progress", reports: [report], nowMs });
    return outcomes[0] ?? "late";
  }

  /** The node's agent reports. `how`: undefined means started, a number is the exit code, after so long. */
  report(
    node: string,
    run: readonly [job: number, index: number, attempt: number],
    how?: number | (RunEvent & { kind: "ended" })["outcome"],
    ranMs = 0,
  ): Answers["report-runs"] {
    const [job, index, attempt] = run;
    const link = this.state.nodes.get(nodeId(node))?.node.link;
    const session = link?.kind === "connected" ? link.session : 0;
    const ref = { jobId: jobId(job), index, attempt };
    const nowMs = this.nowMs;
    const event: RunEvent =
      how === undefined
        ? { kind: "started", run: ref, startedAtMs: nowMs }
        : {
            kind: "ended",
            run: ref,
            startedAtMs: typeof how === "number" ? nowMs - ranMs : undefined,
            endedAtMs: nowMs,
            outcome: typeof how === "number" ? exitOf(how) : how,
            usage: aUsage(job, index, attempt),
          };
    return this.do({ kind: "report-runs", nodeId: nodeId(node), session, events: [event], nowMs });
  }
}

const exitOf = (exitCode: number) =>
  exitCode === 0 ? ({ kind: "succeeded" } as const) : ({ kind: "exited", exitCode } as const);
