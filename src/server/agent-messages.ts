import { createHash } from "node:crypto";
import { checkName, JOB_ID_MAX, jobId, nodeId } from "../core/model/ids.ts";
import { checkAmountNames } from "../core/model/resources.ts";
import { checkLabels } from "../core/model/texts.ts";
import type { NodeFacts } from "../core/model/node-facts.ts";
import type { ClusterAgentTerms } from "../core/model/node.ts";
import { LOSS_POLICIES } from "../core/model/node.ts";
import type { Usage } from "../core/model/usage.ts";
import { makeUsage } from "../core/model/usage.ts";
import type { NodeHello, Room, RunEvent, RunRef } from "../core/state/command.ts";
import type {
  ClusterAgent,
  Ended,
  Health,
  Hello,
  RunId,
  Reports,
  RunUsage,
  Take,
} from "../gen/busbar/v1/agent_pb.ts";
import { EndCause } from "../gen/busbar/v1/agent_pb.ts";
import { AppError, invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";

/** What an agent says, checked: a peer that sends nonsense gets an AppError and is let go. */
export function readHello(
  hello: Hello,
  facts: NodeFacts | undefined,
  at: Pick<NodeHello, "address" | "session" | "nowMs">,
): NodeHello {
  if (hello.agentKey.length < 16 || hello.agentKey.length > 256) {
    throw invalid("hello.agent_key", "must have 16 to 256 characters");
  }
  if (hello.runs.length > limits.runsPerAgentMax) {
    throw invalid("hello.runs", `at most ${limits.runsPerAgentMax} runs`);
  }
  return {
    nodeId: nodeId(checkName(hello.node, "hello.node", limits.nameLengthMax)),
    cluster: checkName(hello.cluster || "default", "hello.cluster", limits.nameLengthMax),
    agentKeyHash: createHash("sha256").update(hello.agentKey).digest("hex"),
    bootId: hello.bootId.slice(0, limits.nameLengthMax),
    agentVersion: hello.version.slice(0, limits.nameLengthMax),
    capacity: readAmounts(hello.capacity, "hello.capacity"),
    labels: readLabels(hello.labels),
    clusterAgent: hello.clusterAgent === undefined ? undefined : readTerms(hello.clusterAgent),
    sickness: readHealth(hello.health),
    runs: hello.runs.map((run) => readRun(run)),
    facts,
    ...at,
  };
}

/** Why the agent cannot start processes; undefined: it can. */
export const readHealth = (health: Health | undefined): string | undefined =>
  health === undefined || health.sickness === "" ? undefined : health.sickness;

function readTerms({ leaseMs, onLost }: ClusterAgent): ClusterAgentTerms {
  if (!(leaseMs >= 0 && leaseMs <= limits.durationMsMax)) {
    throw invalid("hello.cluster_agent.lease_ms", `${leaseMs} is no duration in milliseconds`);
  }
  const policy = LOSS_POLICIES.find((name) => name === (onLost || "requeue"));
  if (policy === undefined) {
    const known = LOSS_POLICIES.join(", ");
    throw invalid("hello.cluster_agent.on_lost", `must be one of ${known}`);
  }
  return { leaseMs: leaseMs === 0 ? undefined : Math.round(leaseMs), onLost: policy };
}

/** What an agent of a cluster would take; more than the most at once is asked for again. */
export const readTake = ({ tasks, free, seen }: Take): { readonly seen: number; room: Room } => ({
  seen,
  room: { tasks: Math.min(tasks, limits.tasksPerTakeMax), free: readAmounts(free, "take.free") },
});

function readAmounts(
  amounts: Readonly<Record<string, number>>,
  field: string,
): Record<string, number> {
  const names = Object.keys(amounts);
  if (names.length > limits.resourceNamesMax) {
    throw invalid(field, `at most ${limits.resourceNamesMax} names`);
  }
  checkAmountNames(amounts, field);
  for (const name of names) {
    const amount = amounts[name] ?? 0;
    if (!Number.isSafeInteger(amount) || amount < 0) {
      throw invalid(`${field}.${name}`, `must be a whole number from 0, not ${amount}`);
    }
  }
  return { ...amounts };
}

function readLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return { ...checkLabels(labels, "hello.labels") };
}

export function readRun(run: RunId | undefined): RunRef {
  if (run === undefined || run.job < 1 || run.job > JOB_ID_MAX || run.attempt < 1) {
    throw invalid("run", "must name a job and an attempt, each from 1");
  }
  return { jobId: jobId(run.job), index: run.index, attempt: run.attempt };
}

export function readReports({ events }: Reports): RunEvent[] {
  if (events.length > limits.reportEventsPerMessageMax) {
    throw invalid("reports.events", `at most ${limits.reportEventsPerMessageMax} in one message`);
  }
  return events.map(({ id, event }) => {
    const run = readRun(id);
    switch (event.case) {
      case "started":
        return { kind: "started", run, startedAtMs: time(event.value.startedAtMs) };
      case "ended":
        return readEnded(run, event.value);
      case undefined:
        throw invalid("reports.events", "an event must be started or ended");
    }
  });
}

function readEnded(run: RunRef, ended: Ended): RunEvent {
  const startedAtMs = ended.startedAtMs === 0 ? undefined : time(ended.startedAtMs);
  const endedAtMs = time(ended.endedAtMs);
  const usage = ended.usage && readUsage(ended.usage);
  return { kind: "ended", run, startedAtMs, endedAtMs, outcome: readOutcome(ended), usage };
}

/** A number that cannot be counts as unknown: the end that it came with must not be lost for it. */
const readUsage = ({ cpuUs, wallUs, maxRssKib, majorFaults }: RunUsage): Usage | undefined =>
  makeUsage(measured(cpuUs), measured(wallUs), measured(maxRssKib), measured(majorFaults));

function measured(amount: number | undefined): number | undefined {
  const isPlausible = amount !== undefined && amount >= 0 && amount <= limits.usageMax;
  return isPlausible ? Math.round(amount) : undefined;
}

function readOutcome(ended: Ended): (RunEvent & { kind: "ended" })["outcome"] {
  const { message } = ended;
  switch (ended.cause) {
    case EndCause.EXITED:
      if (ended.exitCode > 255) throw invalid("ended.exit_code", "must be from 0 to 255");
      return ended.exitCode === 0
        ? { kind: "succeeded" }
        : { kind: "exited", exitCode: ended.exitCode };
    case EndCause.SIGNALLED:
      return { kind: "signalled", signal: ended.signal || "SIGKILL" };
    case EndCause.TIME_LIMIT:
      return { kind: "time-limit" };
    case EndCause.STOPPED:
      return { kind: "stopped" };
    case EndCause.COULD_NOT_START:
      return { kind: ended.isNodeFault ? "node-fault" : "could-not-start", message };
    case EndCause.VANISHED:
      return { kind: "vanished", message };
    case EndCause.UNSPECIFIED:
      throw invalid("ended.cause", "must be given");
    default:
      throw new AppError("invalid_argument", `ended.cause: ${String(ended.cause)} is not known`);
  }
}

function time(ms: number): number {
  if (!Number.isFinite(ms) || ms < 0 || ms > Number.MAX_SAFE_INTEGER) {
    throw invalid("time", `${ms} is not a time in milliseconds`);
  }
  return Math.round(ms);
}
