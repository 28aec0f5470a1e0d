import { create } from "@bufbuild/protobuf";
import type { Job } from "../core/model/job.ts";
import { taskTotalOf } from "../core/model/job.ts";
import type { JobId, NodeId } from "../core/model/ids.ts";
import type { NodeFacts } from "../core/model/node-facts.ts";
import type { NodeHello, Room, RunRef } from "../core/state/command.ts";
import type { OutputChunk, RunSpec, ServerMessage } from "../gen/busbar/v1/agent_pb.ts";
import { OutputStream, RunSpecSchema, ServerMessageSchema } from "../gen/busbar/v1/agent_pb.ts";
import { AppError } from "../lib/errors.ts";
import { silenceMsMax } from "../core/model/heartbeat.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";

/** The server's end of one agent's stream; gRPC in production, a simulated network in tests. */
export interface AgentPeer {
  /** Where the agent is, without a port; undefined: not known. */
  readonly address?: string | undefined;
  send(message: ServerMessage): void;
  /** Ends the stream after what was sent; with an error if there is one. */
  close(error?: AppError): void;
}

interface PendingOutput {
  readonly resolve: (chunk: OutputChunk) => void;
  readonly reject: (error: AppError) => void;
  readonly cancelTimer: () => void;
}

const toRunId = ({
  jobId,
  index,
  attempt,
}: RunRef): { job: number; index: number; attempt: number } => ({
  job: jobId,
  index,
  attempt,
});

/**
 * One connected agent. Work is collected and sent in batches; nothing is sent before Welcome, and
 * nothing after the end.
 */
export class AgentSession {
  readonly number: number;
  readonly nodeId: NodeId;
  /** It speaks for a whole cluster that pulls. */
  readonly isForCluster: boolean;
  /** How many starts it was given. */
  startsGiven = 0;
  /** Of an agent of a cluster: what it would take when it had seen so many starts. */
  take: { readonly seen: number; readonly room: Room } | undefined;
  /** Whether it is taking some at the moment. */
  isTaking = false;
  /** Whether something was offered to its cluster since that began. */
  isOfferedMore = false;
  lastHeardMs: number;
  /** How long nothing may be heard; follows from the interval of its heartbeats. */
  silenceMs = silenceMsMax(limits.heartbeatIntervalMs);
  reportsInFlight = 0;
  /** What its machine has, while that is being stored. */
  factsToStore: NodeFacts | undefined;
  /** Whether facts came that could not be read; that is told once. */
  factsRefused = false;
  readonly #peer: AgentPeer;
  readonly #clock: Clock;
  #isWelcomed = false;
  #isClosed = false;
  readonly #starts: { readonly run: RunRef; readonly job: Job }[] = [];
  readonly #stops: RunRef[] = [];
  /** Runs of a job sent and not ended: while there are some, the agent has the job's spec. */
  readonly #runsByJob = new Map<JobId, number>();
  readonly #outputs = new Map<number, PendingOutput>();
  #lastRequest = 0;

  constructor(
    number: number,
    { nodeId, clusterAgent }: Pick<NodeHello, "nodeId" | "clusterAgent">,
    peer: AgentPeer,
    clock: Clock,
  ) {
    this.number = number;
    this.nodeId = nodeId;
    this.isForCluster = clusterAgent !== undefined;
    this.#peer = peer;
    this.#clock = clock;
    this.lastHeardMs = clock.nowMs();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  welcome(): void {
    this.#send({
      case: "welcome",
      value: {
        heartbeatIntervalMs: limits.heartbeatIntervalMs,
        serverTimeMs: this.#clock.nowMs(),
        wantsHealth: true,
      },
    });
    this.#isWelcomed = true;
    this.flush();
  }

  start(run: RunRef, job: Job): void {
    this.#starts.push({ run, job });
  }

  stop(run: RunRef): void {
    this.#stops.push(run);
  }

  /** A run of the job has ended here. */
  runEnded(id: JobId): void {
    const left = (this.#runsByJob.get(id) ?? 0) - 1;
    if (left > 0) this.#runsByJob.set(id, left);
    else this.#runsByJob.delete(id);
  }

  /** Sends the work that was collected: starts first, for a stop may be meant for one of them. */
  flush(): void {
    if (!this.#isWelcomed || this.#isClosed) return;
    this.#sendStarts(this.#starts.splice(0));
    for (const part of parts(this.#stops.splice(0))) {
      this.#send({ case: "work", value: { stops: part.map(toRunId) } });
    }
  }

  /** In messages of bounded size, each with the specs that the agent does not have. */
  #sendStarts(starts: readonly { readonly run: RunRef; readonly job: Job }[]): void {
    let specs: RunSpec[] = [];
    let runs: RunRef[] = [];
    let bytes = 0;
    const send = (): void => {
      if (runs.length === 0) return;
      this.#send({ case: "work", value: { specs, starts: runs.map(toRunId) } });
      [specs, runs, bytes] = [[], [], 0];
    };
    for (const { run, job } of starts) {
      const known = this.#runsByJob.get(run.jobId) ?? 0;
      const size = known > 0 ? 0 : sizeOf(job);
      const isFull = runs.length >= limits.workItemsPerMessageMax;
      if (isFull || bytes + size > limits.messageBytesMax / 2) send();
      if (known === 0) specs.push(toRunSpec(job, this.isForCluster));
      bytes += size;
      runs.push(run);
      this.#runsByJob.set(run.jobId, known + 1);
    }
    send();
  }

  ack(seq: number): void {
    this.#send({ case: "ack", value: { seq } });
  }

  /** Answers a heartbeat. The agent sends the next one when the interval has passed. */
  answerHeartbeat(intervalMs: number): void {
    if (!this.#isWelcomed) return;
    this.silenceMs = silenceMsMax(intervalMs);
    this.#send({ case: "heartbeat", value: { intervalMs } });
  }

  /** Asks the agent for a piece of output. */
  requestOutput(query: {
    readonly run: RunRef;
    readonly stream: "stdout" | "stderr";
    readonly offset: number;
    readonly waitMs: number;
    readonly bytesMax: number;
  }): Promise<OutputChunk> {
    if (this.#isClosed) return Promise.reject(gone(this.nodeId));
    if (this.#outputs.size >= limits.outputRequestsPerSessionMax) {
      const text = `too many readers of output on node ${this.nodeId}; try again later`;
      return Promise.reject(new AppError("exhausted", text));
    }
    const request = ++this.#lastRequest;
    return new Promise((resolve, reject) => {
      const cancelTimer = this.#clock.after(query.waitMs + limits.outputWaitMsMax, () => {
        this.#outputs.delete(request);
        reject(new AppError("unavailable", `node ${this.nodeId} did not send the output in time`));
      });
      this.#outputs.set(request, { resolve, reject, cancelTimer });
      this.#send({
        case: "output",
        value: {
          request,
          id: toRunId(query.run),
          stream: query.stream === "stdout" ? OutputStream.STDOUT : OutputStream.STDERR,
          offset: query.offset,
          maxBytes: query.bytesMax,
          waitMs: query.waitMs,
        },
      });
    });
  }

  outputArrived(chunk: OutputChunk): void {
    const pending = this.#outputs.get(chunk.request);
    if (pending === undefined) return; // it came too late, or nobody asked
    this.#outputs.delete(chunk.request);
    pending.cancelTimer();
    pending.resolve(chunk);
  }

  goodbye(reason: string, retry: boolean, error?: AppError): void {
    this.#send({ case: "goodbye", value: { reason, retry } });
    this.close(error);
  }

  close(error?: AppError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const { reject, cancelTimer } of this.#outputs.values()) {
      cancelTimer();
      reject(gone(this.nodeId));
    }
    this.#outputs.clear();
    this.#peer.close(error);
  }

  #send(message: Parameters<typeof toServerMessage>[0]): void {
    if (!this.#isClosed) this.#peer.send(toServerMessage(message));
  }
}

type MessageInit = NonNullable<Parameters<typeof create<typeof ServerMessageSchema>>[1]>["message"];

export const toServerMessage = (message: NonNullable<MessageInit>): ServerMessage =>
  create(ServerMessageSchema, { message });

export const gone = (nodeId: NodeId): AppError =>
  new AppError(
    "unavailable",
    `node ${nodeId} is not connected; its output is there when it returns`,
  );

function* parts(runs: readonly RunRef[]): Iterable<readonly RunRef[]> {
  for (let at = 0; at < runs.length; at += limits.workItemsPerMessageMax) {
    yield runs.slice(at, at + limits.workItemsPerMessageMax);
  }
}

/** About how many bytes a spec takes on the wire. */
function sizeOf({ spec: { work, env } }: Job): number {
  let size = 256;
  if (work.kind !== "command") size += work.text.length;
  else for (const argument of work.argv) size += argument.length + 4;
  for (const name in env) size += name.length + (env[name]?.length ?? 0) + 8;
  return size * 3; // a character may take three bytes
}

/** Nodes were chosen by these; who speaks for a cluster hands them on to its scheduler. */
const toDemand = ({ request, needs }: Job["spec"]) => ({
  request: request === undefined ? "" : JSON.stringify(request),
  needs: { ...needs },
});

function toRunSpec({ id, spec }: Job, isForCluster: boolean): RunSpec {
  return create(RunSpecSchema, {
    job: id,
    jobName: spec.name,
    group: spec.group,
    ...(spec.work.kind === "command"
      ? { argv: [...spec.work.argv] }
      : { [spec.work.kind]: spec.work.text }),
    ...(isForCluster ? toDemand(spec) : {}),
    env: { ...spec.env },
    cwd: spec.cwd ?? "",
    timeLimitMs: spec.timeLimitMs ?? 0,
    killGraceMs: spec.killGraceMs,
    outputLimitBytes: spec.outputLimitBytes,
    arraySize: spec.array === undefined ? 0 : taskTotalOf(spec),
  });
}
