import { create } from "@bufbuild/protobuf";

import type {
  AgentMessage,
  ContainerSpec,
  ProgressReports,
  RunEvent,
  RunId as WireRunId,
  RunSpec,
  Work,
} from "../gen/busbar/v1/agent_pb.ts";
import {
  AgentMessageSchema,
  AgentPowerSchema,
  EndCause,
  ProgressReportsSchema,
  RunEventSchema,
  RunIdSchema,
} from "../gen/busbar/v1/agent_pb.ts";
import type { ResourceChoice } from "../core/graph/request/request.ts";
import { decodeChoice } from "../core/graph/rows.ts";
import { ATTACH_KINDS } from "../core/model/job/attach/attach.ts";
import type { ContainerTerms } from "../core/model/job/containers/containers.ts";
import type { Power } from "../core/model/node/power.ts";
import { invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { RunEnd, RunId, RunRequest } from "../ports/executor.ts";
import { runKey } from "./runs/run-key.ts";
import { shifted } from "./run-times.ts";
import type { Outgoing } from "./session/outbox.ts";
import type { RunProgress } from "./session/tellers/progress-teller.ts";

type MessageInit = NonNullable<Parameters<typeof create<typeof AgentMessageSchema>>[1]>["message"];

export const toAgentMessage = (message: NonNullable<MessageInit>): AgentMessage =>
  create(AgentMessageSchema, { message });

export const toWireId = ({ jobId, index, attempt }: RunId): WireRunId =>
  create(RunIdSchema, { job: jobId, index, attempt });

export function fromWireId(id: WireRunId | undefined): RunId {
  if (id === undefined || id.job < 1 || id.attempt < 1) {
    throw invalid("run", "must name a job and an attempt, each from 1");
  }
  return { jobId: id.job, index: id.index, attempt: id.attempt };
}

const CAUSES: Readonly<Record<RunEnd["kind"], EndCause>> = {
  exited: EndCause.EXITED,
  signalled: EndCause.SIGNALLED,
  "time-limit": EndCause.TIME_LIMIT,
  "out-of-memory": EndCause.SIGNALLED,
  stopped: EndCause.STOPPED,
  "could-not-start": EndCause.COULD_NOT_START,
  "node-fault": EndCause.COULD_NOT_START,
  vanished: EndCause.VANISHED,
};

export function toRunEvent(outgoing: Outgoing): RunEvent {
  const { id, report } = outgoing;
  const wireId = toWireId(id);
  if (report.kind === "returned") {
    const value = { heldAtMs: report.heldAtMs };
    return create(RunEventSchema, { id: wireId, event: { case: "returned", value } });
  }
  if (report.kind === "running") {
    const value = { startedAtMs: report.startedAtMs };
    return create(RunEventSchema, { id: wireId, event: { case: "started", value } });
  }
  const { end } = report;
  const value = {
    startedAtMs: report.startedAtMs ?? 0,
    endedAtMs: report.endedAtMs,
    cause: CAUSES[end.kind],
    exitCode: end.kind === "exited" ? end.exitCode : 0,
    signal: signalOf(end),
    message: "message" in end ? (end.message ?? "") : "",
    isNodeFault: end.kind === "node-fault",
    isOutOfMemory: end.kind === "out-of-memory",
    memoryLimitBytes: end.kind === "out-of-memory" ? (end.limitBytes ?? 0) : 0,
    ...(report.usage && { usage: report.usage }),
    ...(report.progress && { progress: report.progress }),
    ...("began" in outgoing && outgoing.began && { began: toWireId(outgoing.began) }),
  };
  return create(RunEventSchema, { id: wireId, event: { case: "ended", value } });
}

/** With times by another clock. */
export const toRunEvents = (
  events: readonly Outgoing[],
  at: (momentMs: number) => number,
): RunEvent[] =>
  events.map((outgoing) =>
    outgoing.report.kind === "returned"
      ? toRunEvent(outgoing)
      : toRunEvent({ ...outgoing, report: shifted(outgoing.report, at) }),
  );

export const toProgressReports = (runs: readonly RunProgress[]): ProgressReports =>
  create(ProgressReportsSchema, {
    runs: runs.map(({ id, progress }) => ({ id: toWireId(id), progress })),
  });

function signalOf(end: RunEnd): string {
  if (end.kind === "out-of-memory") return "SIGKILL";
  return "signal" in end ? (end.signal ?? "") : "";
}

/** Variables that describe a run to its work. The job's own environment cannot override them. */
function runEnv(spec: RunSpec, id: RunId, place: AgentPlace): Record<string, string> {
  const isArray = spec.arraySize > 0;
  return {
    BUSBAR_JOB_ID: String(id.jobId),
    BUSBAR_TASK_ID: isArray ? `${id.jobId}.${id.index}` : String(id.jobId),
    BUSBAR_ATTEMPT: String(id.attempt),
    BUSBAR_NODE: place.node,
    BUSBAR_CLUSTER: place.cluster,
    ...(isArray && {
      BUSBAR_ARRAY_INDEX: String(id.index),
      // A task of another Busbar's array is the only task of its job here.
      BUSBAR_ARRAY_SIZE: spec.env["BUSBAR_ORIGIN_ARRAY_SIZE"] ?? String(spec.arraySize),
    }),
    ...(spec.entries.length > 0 && { BUSBAR_ENTRY: spec.entries[id.index] ?? "" }),
  };
}

export interface AgentPlace {
  readonly node: string;
  readonly cluster: string;
}

/** The energy of the starts that are shares. */
export const sharesOf = ({ shares }: Work): ReadonlyMap<string, number> =>
  new Map(shares.map(({ id, wattSeconds }) => [runKey(fromWireId(id)), wattSeconds]));

export const toAgentPower = ({
  watts,
  changes = [],
  greatestShare = 0,
  isBare,
  tickMs = 0,
  site,
}: Power) =>
  create(AgentPowerSchema, {
    watts,
    changes: changes.map((change) => ({ ...change })),
    greatestShare,
    needsNoCommand: isBare === true,
    tickMs,
    ...(site && { site: { ...site, capacity: { ...site.capacity } } }),
  });

export function toRunRequest(
  spec: RunSpec,
  id: RunId,
  place: AgentPlace,
  shareWattSeconds?: number,
): RunRequest {
  const share = shareWattSeconds === undefined ? undefined : { shareWattSeconds };
  return {
    ...share,
    id,
    name: spec.jobName,
    arrayIndex: spec.arraySize > 0 ? id.index : undefined,
    work: toWork(spec),
    ...(spec.container && { container: toContainer(spec.container) }),
    ...toBefore(spec),
    request:
      spec.request === "" ? undefined : decodeChoice(JSON.parse(spec.request) as ResourceChoice),
    needs: spec.needs,
    env: {
      ...spec.env,
      ...runEnv(spec, id, place),
      ...(share && { BUSBAR_SHARE_WATT_SECONDS: String(shareWattSeconds) }),
    },
    cwd: spec.cwd === "" ? undefined : spec.cwd,
    ...((spec.stdoutFile !== "" || spec.stderrFile !== "") && {
      outputFiles: { stdout: spec.stdoutFile, stderr: spec.stderrFile },
    }),
    ...(spec.attach !== "" && { attach: toAttach(spec) }),
    ...(spec.submitDirectory !== "" && {
      submitDirectory: { path: spec.submitDirectory, id: spec.submitDirectoryId },
    }),
    timeLimitMs: spec.timeLimitMs > 0 ? spec.timeLimitMs : undefined,
    killGraceMs: Math.max(0, spec.killGraceMs),
    outputLimitBytes: Math.max(0, Math.floor(spec.outputLimitBytes)),
    ...(spec.jobSpec.length > 0 && {
      job: {
        spec: spec.jobSpec,
        submittedAtMs: spec.submittedAtMs,
        arraySize: spec.arraySize > 0 ? spec.arraySize : undefined,
      },
    }),
  };
}

function toAttach({ attach, hangUpMs }: RunSpec): NonNullable<RunRequest["attach"]> {
  const kind = ATTACH_KINDS.find((known) => known === attach);
  if (kind === undefined) throw invalid("attach", `${attach} is neither stdin nor terminal`);
  return { kind, hangUpMs: hangUpMs > 0 ? hangUpMs : limits.hangUpMsDefault };
}

/** The words before the program: nice, and a shell that passes a script its arguments. */
function toBefore({ nice, args, container }: RunSpec): Pick<RunRequest, "before"> {
  const before = [
    ...(nice === 0 ? [] : toNice(nice)),
    // The program of a run with containers is not the script, but what starts them.
    ...(args.length === 0 || container !== undefined ? [] : withArgs(args)),
  ];
  return before.length === 0 ? {} : { before };
}

/** The last arguments of this shell go first: the path of the script, after its interpreter and an argument of that, where they are given. */
function withArgs(args: readonly string[]): readonly string[] {
  const word = (at: number): string => `\${${at}+"\${${at}}"}`;
  const own = args.map((_, at) => `"\${${at + 1}}"`).join(" ");
  const script = [1, 2, 3].map((after) => word(args.length + after)).join(" ");
  return ["/bin/sh", "-c", `exec ${script} ${own}`, "sh", ...args];
}

/** Fails with a reason instead of running with a priority other than the requested one. */
const BELOW_ZERO =
  '[ "$(nice -n "$0" nice 2>/dev/null)" -lt 0 ] || ' +
  '{ echo "busbar: nice $0: only an agent that runs as root can go below 0" >&2; exit 126; }; ' +
  'exec nice -n "$0" "$@"';

const toNice = (nice: number): readonly string[] =>
  nice > 0 ? ["nice", "-n", `${nice}`] : ["/bin/sh", "-c", BELOW_ZERO, `${nice}`];

/** The server checks images; an invalid one cannot be parsed. */
const toContainer = ({ image, containers, mounts, network }: ContainerSpec): ContainerTerms => ({
  image: image === "" ? undefined : image,
  containers,
  mounts,
  network: network === "none" ? "none" : "host",
});

function toWork(spec: RunSpec): RunRequest["work"] {
  const { argv, script, args, jobspec, workload, container } = spec;
  if (workload !== "") return { kind: "workload", text: workload };
  if (jobspec !== "") return { kind: "jobspec", text: jobspec };
  const isImagesOwn = container !== undefined && script === "";
  if (argv.length > 0 || isImagesOwn) return { kind: "command", argv };
  const isInside = container !== undefined && args.length > 0;
  return { kind: "script", text: script, ...(isInside && { args }) };
}
