import { describeFailure } from "../../../core/model/job/task.ts";
import { readProgress, type ReportedProgress } from "../../../core/model/job/task-progress.ts";
import { makeUsage, type Usage } from "../../../core/model/job/usage.ts";
import type { StateName } from "../../../client/state.ts";
import { stateName } from "../../../client/state.ts";
import type { Progress, Task, Usage as WireUsage } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { RunEnd } from "../../../ports/executor.ts";

/** The state of a task at the Busbar below. */
export type TaskNews =
  | { readonly kind: "queued" }
  | {
      readonly kind: "running";
      readonly startedAtMs: number;
      readonly progress: ReportedProgress | undefined;
    }
  | {
      readonly kind: "ended";
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number | undefined;
      readonly end: RunEnd;
      readonly usage: Usage | undefined;
      readonly progress: ReportedProgress | undefined;
    };

export interface EndTerms {
  /** The name of the site, for people. */
  readonly site: string;
  /** Whether the run was stopped from above. */
  readonly isStopped: boolean;
}

const QUEUED: ReadonlySet<StateName | "unknown"> = new Set<StateName>([
  "pending",
  "waiting",
  "offered",
  "accepted",
  "held",
  "assigned",
]);

/** The fields of a task that a run's report needs. */
type TaskBelow = Pick<Task, "state"> &
  Partial<
    Pick<Task, "startedAtMs" | "endedAtMs" | "reason" | "exitCode" | "signal" | "failure" | "usage">
  > & { readonly progress?: Pick<Progress, "percent" | "message"> | undefined };

export function newsOf(task: TaskBelow, terms: EndTerms): TaskNews {
  const state = stateName(task.state);
  const startedAtMs = numberOf(task.startedAtMs);
  if (QUEUED.has(state)) return { kind: "queued" };
  if (state === "running" || state === "stopping" || state === "unknown") {
    if (startedAtMs === undefined) return { kind: "queued" };
    return { kind: "running", startedAtMs, progress: progressOf(task) };
  }
  return {
    kind: "ended",
    startedAtMs,
    endedAtMs: numberOf(task.endedAtMs),
    end: endOf(task, state, terms),
    usage: usageOf(task.usage),
    progress: progressOf(task),
  };
}

function endOf(task: TaskBelow, state: StateName, { site, isStopped }: EndTerms): RunEnd {
  const reason = task.reason ?? "";
  if (state === "succeeded") return { kind: "exited", exitCode: 0 };
  if (state === "failed") return failureOf(task, reason);
  if (isStopped) return { kind: "stopped", signal: task.signal };
  const message = `${state} at site ${site}${reason === "" ? "" : `: ${reason}`}`;
  return task.startedAtMs === undefined
    ? { kind: "could-not-start", message }
    : { kind: "signalled", signal: task.signal ?? "SIGTERM", message };
}

/** An older Busbar below sends no `failure`. */
function failureOf({ failure, exitCode, signal }: TaskBelow, reason: string): RunEnd {
  switch (failure) {
    case "time-limit":
      return { kind: "time-limit", signal };
    case "out-of-memory":
      return { kind: "out-of-memory" };
    case "could-not-start":
      return { kind: "could-not-start", message: without(COULD_NOT_START, reason) };
    case "signalled":
      return { kind: "signalled", signal: signal ?? "SIGKILL", ...saidOf(reason) };
    // The site lost the task for good, after all its attempts.
    case "vanished":
    case "lost":
    case "node-fault":
      return { kind: "vanished", message: reason };
    case undefined:
    default:
      if (exitCode !== undefined) return { kind: "exited", exitCode };
      return signal === undefined
        ? { kind: "vanished", message: reason }
        : { kind: "signalled", signal };
  }
}

const COULD_NOT_START = describeFailure({ kind: "could-not-start", message: "" });

/** The Busbar above prepends it to the message again. */
const without = (prefix: string, text: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text;

/** "killed by SIGTERM: cancelled at site c" has a message, "killed by SIGKILL" none. */
function saidOf(reason: string): { readonly message?: string } {
  const message = /^killed by \w+: (.+)$/s.exec(reason)?.[1];
  return message === undefined ? {} : { message };
}

const progressOf = ({ progress }: TaskBelow): ReportedProgress | undefined =>
  progress && readProgress(progress.percent, progress.message ?? "");

function usageOf(usage: WireUsage | undefined): Usage | undefined {
  if (usage === undefined) return undefined;
  const { cpuMs, wallMs, maxRssBytes, majorFaults } = usage;
  return makeUsage(
    scaled(cpuMs, 1_000),
    scaled(wallMs, 1_000),
    scaled(numberOf(maxRssBytes), 1 / 1_024),
    numberOf(majorFaults),
  );
}

const scaled = (value: number | undefined, by: number): number | undefined =>
  value === undefined ? undefined : Math.round(value * by);

const numberOf = (value: bigint | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);
