import { create } from "@bufbuild/protobuf";
import type { AgentPrincipal, Principal } from "../../core/access/principal.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { JobId, NodeId } from "../../core/model/ids.ts";
import type { TaskState } from "../../core/model/job/task.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import type { Power } from "../../core/model/node/power.ts";
import type { Answers, NodeHello, RunRef } from "../../core/state/command.ts";
import type { OutputChunk, Parts, ServerMessage } from "../../gen/busbar/v1/agent_pb.ts";
import { ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError, describeChain } from "../../lib/errors.ts";
import { ENCODINGS } from "../../lib/bytes/packing.ts";
import type { LinkTimes } from "../../core/model/node/heartbeat.ts";
import { silenceMsMax } from "../../core/model/node/heartbeat.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { PackedSpecs } from "../work/packed-specs.ts";
import { NewestOnly } from "../../lib/collections/newest-only.ts";
import { OutputReads, type OutputRange } from "./output-reads.ts";
import { Taking } from "./taking.ts";
import { AgentAttachments } from "../attach/agent-attachments.ts";
import { WorkLane } from "../work/work-lane.ts";

/** The server's end of one agent's stream; gRPC in production, a simulated network in tests. */
export interface AgentPeer {
  /** The principal that opened the stream. Its Hello counts only if this principal may connect agents. */
  readonly principal: Principal;
  /** The address of the agent, without a port; undefined: unknown. */
  readonly address?: string | undefined;
  /** Bytes received so far, including incomplete messages. Absent: the transport counts messages only. */
  bytesReceived?(): number;
  send(message: ServerMessage): void;
  /** Ends the stream after all sent messages; with an error if there is one. */
  close(error?: AppError): void;
}

export interface AgentSessionOptions {
  readonly peer: AgentPeer;
  readonly clock: Clock;
  /** Undefined: an older agent. */
  readonly parts: Parts | undefined;
  readonly packedSpecs: PackedSpecs;
  /** The times that the agent requests, or the server's; absent ones follow from limits. */
  readonly times?: LinkTimes | undefined;
  /** The interval that the agent requests, regardless of others; undefined: it requests none. */
  readonly ownHeartbeatMs?: number | undefined;
  /** Its executor submits jobs to another Busbar. */
  readonly wantsJobSpec?: boolean | undefined;
}

/**
 * One connected agent. Work is collected and sent in batches; nothing is sent before Welcome, and
 * nothing after the end.
 */
export class AgentSession {
  readonly number: number;
  readonly nodeId: NodeId;
  readonly cluster: string;
  /** It is the agent of a whole pull cluster. */
  readonly isForCluster: boolean;
  /** How much it accepts, if it is the agent of a cluster. */
  readonly taking = new Taking();
  #lastHeardMs: number;
  /** How long the agent may be silent; follows from the interval of its heartbeats. */
  #silenceMs: number;
  readonly #times: LinkTimes;
  #heartbeatIntervalMs: number;
  readonly #ownHeartbeatMs: number | undefined;
  #reportsInFlight = 0;
  readonly #facts = new NewestOnly<NodeFacts>();
  readonly #power = new NewestOnly<Power>();
  #hasRefusedFacts = false;
  readonly #peer: AgentPeer;
  readonly #clock: Clock;
  /** When it became quiet, or the last check since then. */
  #quietBytes: number | undefined;
  /** Held runs that the server asked the agent to return, and when; oldest first. */
  readonly #askedFor = new Map<string, number>();
  #principal: AgentPrincipal | undefined;
  #isClosed = false;
  readonly #work: WorkLane;
  readonly #parts: Parts | undefined;
  readonly #outputs: OutputReads;
  /** Clients of its runs. */
  readonly attachments: AgentAttachments;

  constructor(
    number: number,
    { nodeId, cluster, clusterAgent }: Pick<NodeHello, "nodeId" | "cluster" | "clusterAgent">,
    options: AgentSessionOptions,
  ) {
    const { peer, clock, parts, packedSpecs, times = {}, ownHeartbeatMs } = options;
    this.#times = times;
    this.#ownHeartbeatMs = ownHeartbeatMs;
    this.#heartbeatIntervalMs = times.heartbeatMs ?? limits.heartbeatIntervalMs;
    this.#silenceMs = silenceMsMax(this.#heartbeatIntervalMs, times);
    this.number = number;
    this.nodeId = nodeId;
    this.cluster = cluster;
    this.isForCluster = clusterAgent !== undefined;
    this.#peer = peer;
    this.#clock = clock;
    this.#lastHeardMs = clock.nowMs();
    this.#parts = parts;
    const send = (message: MessageInit): void => this.#send(message);
    const own = this.isForCluster ? "cluster" : "node";
    const reader = options.wantsJobSpec === true ? "busbar" : own;
    this.#work = new WorkLane({ send, clock, parts, packedSpecs, reader });
    const takesCancels = parts !== undefined;
    this.#outputs = new OutputReads({ nodeId, clock, send, takesCancels });
    this.attachments = new AgentAttachments(nodeId, send, this.#work);
  }

  /**
   * The last sign of life of the agent, as seen at the end of its stream. The end itself is a
   * sign of life while heartbeats arrive in time; after a missed heartbeat it is not.
   */
  lastSignOfLifeMs(endedAtMs: number): number {
    const isOverdue = endedAtMs - this.#lastHeardMs > 2 * this.#heartbeatIntervalMs;
    return isOverdue ? this.#lastHeardMs : endedAtMs;
  }

  /** A message arrived. */
  heard(): void {
    this.#lastHeardMs = this.#clock.nowMs();
  }

  /** Time in which this process did not run does not count as silence. */
  excuse(ms: number, nowMs: number): void {
    this.#lastHeardMs = Math.min(this.#lastHeardMs + ms, nowMs);
  }

  /** The name of the session in commands. */
  get ref(): { readonly nodeId: NodeId; readonly session: number } {
    return { nodeId: this.nodeId, session: this.number };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Whether the agent has been silent for too long. Bytes are a sign of life, too: over a slow link a message
   * takes long. The session counts them only when no message has arrived for a while.
   */
  isSilent(nowMs: number): boolean {
    if (this.#lastHeardMs + this.#silenceMs / 2 >= nowMs) {
      this.#quietBytes = undefined;
      return false;
    }
    const bytes = this.#peer.bytesReceived?.() ?? 0;
    const before = this.#quietBytes ?? bytes;
    this.#quietBytes = bytes;
    if (bytes !== before) this.#lastHeardMs = nowMs;
    return this.#lastHeardMs + this.#silenceMs < nowMs;
  }

  /** The principal of the agent; undefined: the key in Hello has not proven it yet. */
  get principal(): AgentPrincipal | undefined {
    return this.#principal;
  }

  /** The node is the agent's: from now on it may send all messages that its principal may. */
  welcome(): void {
    const { nodeId: node, cluster } = this;
    this.#principal = { kind: "agent", node, ...(this.isForCluster ? { cluster } : {}) };
    this.#send({
      case: "welcome",
      value: {
        heartbeatIntervalMs: this.#heartbeatIntervalMs,
        silenceMs: this.#times.silenceMs ?? 0,
        serverTimeMs: this.#clock.nowMs(),
        wantsHealth: true,
        wantsClock: true,
        wantsQueued: true,
        wantsProgress: true,
        wantsPower: true,
        ...(this.#parts && { parts: { encodings: [...ENCODINGS] } }),
      },
    });
    this.flush();
  }

  /** Sends the starts, held runs and stops that bring the agent in line with the server. */
  resume(
    { starts, holds, stops }: Answers["connect-node"],
    jobOf: (id: JobId) => Job | undefined,
  ): void {
    for (const run of starts) {
      const job = jobOf(run.jobId);
      if (job !== undefined) this.start(run, job);
    }
    for (const { run, heldAtMs, isWanted } of holds) {
      const job = jobOf(run.jobId);
      if (job !== undefined) this.hold(run, job, heldAtMs);
      if (!isWanted) this.takeBack(run);
    }
    this.taking.given(starts.length);
    for (const run of stops) this.stop(run);
  }

  /** The new state of a task that is, or was, assigned to the agent. */
  taskChanged(run: RunRef, state: TaskState, job: Job | undefined): void {
    if (state.kind !== "held") this.#returned(run);
    if (state.kind === "held") {
      if (state.takeBack !== undefined) this.takeBack(run);
      else if (job !== undefined) this.hold(run, job, state.heldAtMs);
    } else if (state.kind === "assigned") {
      if (state.isBegun !== true && job !== undefined) this.start(run, job);
    } else if (state.kind === "stopping") this.stop(run);
    else if (state.kind !== "running") this.runEnded(run);
  }

  #returned(run: RunRef): void {
    if (this.#askedFor.size > 0) this.#askedFor.delete(keyOf(run));
  }

  start(run: RunRef, job: Job): void {
    this.#work.start(run, job);
  }

  /** The agent is to begin the task by itself, in the place of one that has ended. */
  hold(run: RunRef, job: Job, heldAtMs: number): void {
    this.#work.start(run, job, heldAtMs);
  }

  /** The agent is to return a held task. */
  takeBack(run: RunRef): void {
    this.#askedFor.set(keyOf(run), this.#clock.nowMs());
    this.#work.takeBack(run);
  }

  /** A held run that the agent does not begin and does not return although its link works: only a new session helps. */
  owesReturns(nowMs: number): boolean {
    for (const askedAtMs of this.#askedFor.values()) {
      return nowMs - askedAtMs > limits.takeBackMsMax;
    }
    return false;
  }

  stop(run: RunRef): void {
    this.#work.stop(run);
  }

  runEnded(run: RunRef): void {
    this.#returned(run);
    this.#work.runEnded(run);
  }

  /** Sends the collected work, as much as the link's window allows. */
  flush(): void {
    if (this.#principal !== undefined && !this.#isClosed) this.#work.flush();
  }

  /** The agent has read everything up to this mark of ours. */
  markReturned(number: number): void {
    this.#work.markReturned(number);
    this.flush();
  }

  returnMark(number: number): void {
    this.#send({ case: "markSeen", value: { number } });
  }

  ack(seq: number): void {
    this.#send({ case: "ack", value: { seq } });
  }

  /** Answers a heartbeat. The agent sends the next one when its own interval, or `next`, has passed. */
  answerHeartbeat(next: (nowMs: number) => number): void {
    const nowMs = this.#clock.nowMs();
    const intervalMs = this.#ownHeartbeatMs ?? next(nowMs);
    this.#silenceMs = silenceMsMax(intervalMs, this.#times);
    this.#heartbeatIntervalMs = intervalMs;
    this.#send({ case: "heartbeat", value: { intervalMs, serverTimeMs: nowMs } });
  }

  /** A batch of reports arrived. Throws `exhausted` when too many are not acknowledged yet. */
  beginReport(): void {
    if (this.#reportsInFlight >= 2 * limits.unacknowledgedReportsMax) {
      throw new AppError("exhausted", "too many reports were sent without waiting for answers");
    }
    this.#reportsInFlight += 1;
  }

  /** The batch is durable. */
  endReport(seq: number): void {
    this.#reportsInFlight -= 1;
    this.ack(seq);
    this.flush();
  }

  storeFacts(facts: NodeFacts, store: (facts: NodeFacts) => Promise<unknown>): Promise<void> {
    return this.#facts.put(facts, store);
  }

  storePower(power: Power, store: (power: Power) => Promise<unknown>): Promise<void> {
    return this.#power.put(power, store);
  }

  /** Facts arrived that could not be read. True the first time: only that one is logged. */
  refuseFacts(): boolean {
    const isFirst = !this.#hasRefusedFacts;
    this.#hasRefusedFacts = true;
    return isFirst;
  }

  /** The chunks of one request for output, as they arrive. */
  readOutput(range: OutputRange, signal: AbortSignal): AsyncIterable<OutputChunk> {
    if (this.#isClosed) throw gone(this.nodeId);
    return this.#outputs.read(range, signal);
  }

  outputArrived(chunk: OutputChunk): void {
    this.#outputs.arrived(chunk);
  }

  /** Ends the session of an agent whose message was rejected; the agent starts a new one. */
  orGoodbye(told: Promise<unknown>): void {
    told.catch((error: unknown) => this.goodbye(describeChain(error), true));
  }

  goodbye(reason: string, retry: boolean, error?: AppError): void {
    this.#send({ case: "goodbye", value: { reason, retry } });
    this.close(error);
  }

  close(error?: AppError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#outputs.close(gone(this.nodeId));
    this.attachments.close(
      new AppError("unavailable", `node ${this.nodeId} is not connected; its task continues`),
    );
    this.#work.close();
    this.#peer.close(error);
  }

  #send(message: Parameters<typeof toServerMessage>[0]): void {
    if (!this.#isClosed) this.#peer.send(toServerMessage(message));
  }
}

export type MessageInit = NonNullable<
  NonNullable<Parameters<typeof create<typeof ServerMessageSchema>>[1]>["message"]
>;

export const toServerMessage = (message: MessageInit): ServerMessage =>
  create(ServerMessageSchema, { message });

export const gone = (nodeId: NodeId): AppError =>
  new AppError(
    "unavailable",
    `node ${nodeId} is not connected; its output can be read when it returns`,
  );

const keyOf = ({ jobId, index, attempt }: RunRef): string => `${jobId}.${index}.${attempt}`;
