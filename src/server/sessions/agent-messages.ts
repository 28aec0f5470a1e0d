import { createHash } from "node:crypto";
import { checkName, JOB_ID_MAX, jobId, nodeId } from "../../core/model/ids.ts";
import { checkAmountNames } from "../../core/model/resources.ts";
import { checkLabels } from "../../core/model/texts.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import type { LinkTimes } from "../../core/model/node/heartbeat.ts";
import { linkTimesProblem } from "../../core/model/node/heartbeat.ts";
import type { ClusterAgentTerms, LossPolicy, LossTerms } from "../../core/model/node/node.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { AWAY_RULE, LOSS_POLICIES } from "../../core/model/node/node.ts";
import { checkPower, type Power, type SiteEdges } from "../../core/model/node/power.ts";
import type { TaskFailure } from "../../core/model/job/task.ts";
import { readProgress, type ReportedProgress } from "../../core/model/job/task-progress.ts";
import type { Usage } from "../../core/model/job/usage.ts";
import { makeUsage } from "../../core/model/job/usage.ts";
import type { NodeHello, RunEvent, RunRef } from "../../core/state/command.ts";
import type {
  AgentPower,
  ClusterAgent,
  Ended,
  Health,
  Hello,
  ProgressReports,
  RunId,
  Reports,
  RunUsage,
  SiteEdges as WireSiteEdges,
  Take,
} from "../../gen/busbar/v1/agent_pb.ts";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { TakeOffer } from "./taking.ts";

/** Reads and checks messages of agents: for an invalid one the server ends the session with an AppError. */
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
    loss: readLoss(hello),
    canHold: hello.canHold,
    canAttach: hello.canAttach,
    instancesOnly: hello.instancesOnly,
    power: hello.power && readPower(hello.power),
    runs: hello.runs.map((run) => readRun(run)),
    facts,
    ...at,
  };
}

/** Why the agent cannot start processes; undefined: it can. */
export const readHealth = (health: Health | undefined): string | undefined =>
  health === undefined || health.sickness === "" ? undefined : health.sickness;

/** The power of a node for shares of jobs with energy. The core also checks the numbers: it knows their limits. */
export function readPower(told: AgentPower): Power {
  const { watts, changes, greatestShare, needsNoCommand, tickMs, site } = told;
  const power: Power = {
    watts,
    ...(changes.length === 0
      ? {}
      : { changes: changes.map((one) => ({ atMs: one.atMs, watts: one.watts })) }),
    ...(greatestShare === 0 ? {} : { greatestShare }),
    ...(needsNoCommand ? { isBare: true as const } : {}),
    ...(tickMs === 0 ? {} : { tickMs }),
    ...(site === undefined ? {} : { site: readSite(site) }),
  };
  return checkPower(power, "power");
}

const readSite = ({ edges, shares, capacity }: WireSiteEdges): SiteEdges => ({
  edges,
  shares,
  capacity: readAmounts(capacity, "power.site.capacity"),
});

/** The link times that an agent requests; the server refuses an agent that requests invalid ones. */
export function readTimes({ heartbeatMs, silenceMs }: Hello): LinkTimes {
  const times = {
    ...(heartbeatMs === 0 ? {} : { heartbeatMs }),
    ...(silenceMs === 0 ? {} : { silenceMs }),
  };
  const problem = linkTimesProblem(times);
  if (problem !== undefined) throw invalid("hello", problem);
  return times;
}

/** How far an agent's clock is ahead, in milliseconds. */
export function readClock(aheadMs: number): number {
  if (Number.isSafeInteger(Math.round(aheadMs))) return Math.round(aheadMs);
  throw invalid("clock.ahead_ms", `${aheadMs} is no time in milliseconds`);
}

function readTerms({ leaseMs, onLost }: ClusterAgent): ClusterAgentTerms {
  return {
    leaseMs: readAway(leaseMs, "hello.cluster_agent.lease_ms"),
    onLost: readPolicy(onLost || "requeue", "hello.cluster_agent.on_lost"),
  };
}

/** Undefined: the agent does not report it. */
function readLoss({ onLost, lostAfterMs }: Hello): LossTerms | undefined {
  const afterMs = readAway(lostAfterMs, "hello.lost_after_ms");
  if (onLost === "" && afterMs === undefined) return undefined;
  return {
    ...(onLost === "" ? {} : { onLost: readPolicy(onLost, "hello.on_lost") }),
    ...(afterMs === undefined ? {} : { lostAfterMs: afterMs }),
  };
}

const readPolicy = (text: string, field: string): LossPolicy =>
  checkRule(text as LossPolicy, field, { enum: LOSS_POLICIES });

/** How long an agent may be disconnected; undefined: the default of the server. */
export function readAway(ms: number, field: string): number | undefined {
  return checkRule(ms, field, AWAY_RULE) === 0 ? undefined : Math.round(ms);
}

/** How many tasks an agent of a cluster would accept; it asks again for more than fit one answer. */
export const readTake = ({ tasks, free, seen }: Take): TakeOffer => ({
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
      case "returned":
        return { kind: "returned", run, heldAtMs: time(event.value.heldAtMs) };
      case undefined:
        throw invalid("reports.events", "an event must be started, ended or returned");
    }
  });
}

function readEnded(run: RunRef, ended: Ended): RunEvent {
  const startedAtMs = ended.startedAtMs === 0 ? undefined : time(ended.startedAtMs);
  const endedAtMs = time(ended.endedAtMs);
  const usage = ended.usage && readUsage(ended.usage);
  const began = ended.began && readRun(ended.began);
  const progress = ended.progress && readProgress(ended.progress.percent, ended.progress.message);
  const outcome = readOutcome(ended);
  return { kind: "ended", run, startedAtMs, endedAtMs, outcome, usage, progress, began };
}

/** Ignores invalid progress: a task wrote it, and its agent has other tasks. */
export function readProgressReports({ runs }: ProgressReports): {
  readonly run: RunRef;
  readonly progress: ReportedProgress;
}[] {
  if (runs.length > limits.progressRunsPerMessageMax) {
    throw invalid("progress.runs", `at most ${limits.progressRunsPerMessageMax} in one message`);
  }
  return runs.flatMap(({ id, progress: told }) => {
    const run = readRun(id);
    const progress = told && readProgress(told.percent, told.message);
    return progress === undefined ? [] : [{ run, progress }];
  });
}

/** An impossible number counts as unknown: the report of the end must not be lost because of it. */
const readUsage = ({ cpuUs, wallUs, maxRssKib, majorFaults }: RunUsage): Usage | undefined =>
  makeUsage(measuredTime(cpuUs), measuredTime(wallUs), measured(maxRssKib), measured(majorFaults));

function measured(amount: number | undefined): number | undefined {
  const isPlausible = amount !== undefined && amount >= 0 && amount <= limits.usageMax;
  return isPlausible ? Math.round(amount) : undefined;
}

/** Long times are stored in whole milliseconds. */
function measuredTime(us: number | undefined): number | undefined {
  const known = measured(us);
  if (known === undefined || known <= limits.usageExactUsMax) return known;
  return Math.round(known / 1_000) * 1_000;
}

function readOutcome(ended: Ended): (RunEvent & { kind: "ended" })["outcome"] {
  const { message } = ended;
  switch (ended.cause) {
    case EndCause.EXITED:
      if (ended.exitCode > 255) throw invalid("ended.exit_code", "must be from 0 to 255");
      return ended.exitCode === 0
        ? { kind: "succeeded" }
        : { kind: "exited", exitCode: ended.exitCode, ...(message === "" ? {} : { message }) };
    case EndCause.SIGNALLED:
      if (ended.isOutOfMemory) return outOfMemory(measured(ended.memoryLimitBytes));
      return {
        kind: "signalled",
        signal: ended.signal || "SIGKILL",
        ...(message === "" ? {} : { message }),
      };
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

const outOfMemory = (limitBytes: number | undefined): TaskFailure =>
  limitBytes ? { kind: "out-of-memory", limitBytes } : { kind: "out-of-memory" };

function time(ms: number): number {
  if (!Number.isFinite(ms) || ms < 0 || ms > Number.MAX_SAFE_INTEGER) {
    throw invalid("time", `${ms} is not a time in milliseconds`);
  }
  return Math.round(ms);
}
