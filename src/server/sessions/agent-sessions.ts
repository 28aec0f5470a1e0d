import { authorise } from "../../core/access/authorise.ts";
import { nameOf } from "../../core/access/principal.ts";
import type { Job } from "../../core/model/job/job.ts";
import { FactsPool } from "../../core/model/node/facts-pool.ts";
import type { JobId, NodeId } from "../../core/model/ids.ts";
import type { Power } from "../../core/model/node/power.ts";
import { type NodeFacts, parseNodeFacts } from "../../core/model/node/node-facts.ts";
import type { LinkTimes } from "../../core/model/node/heartbeat.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { NodeHello } from "../../core/state/command.ts";
import type { AgentMessage, Reports } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError, describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import {
  readClock,
  readHealth,
  readPower,
  readHello,
  readProgressReports,
  readReports,
  readTake,
  readTimes,
} from "./agent-messages.ts";
import { authoriseMessage } from "./agent-access.ts";
import type { AgentPeer } from "./agent-session.ts";
import { AgentSession, gone, toServerMessage } from "./agent-session.ts";
import type { ProgressBoard } from "../progress/progress-board.ts";
import type { ControlLoop } from "../loop/control-loop.ts";
import { HeartbeatSchedule } from "./heartbeat-schedule.ts";
import { logClock, logHealth } from "./node-log.ts";
import type { Commit } from "../loop/open-batch.ts";
import { PackedSpecs } from "../work/packed-specs.ts";
import { QueueReasons } from "../views/queue-reasons.ts";
import { mayReleaseOffers, Takers } from "./takers.ts";

/** The transport calls these when messages arrive on one agent's stream. */
export interface AgentStream {
  message(message: AgentMessage): void;
  closed(): void;
}

/**
 * All connected agents. A session is a watch on its node's part of the state: the server sends it
 * the tasks that commits assign to the node, and only after they are durable.
 */
export class AgentSessions {
  readonly #loop: () => ControlLoop;
  readonly #jobOf: (id: JobId) => Job | undefined;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #progressBoard: ProgressBoard;
  /** Sessions after Hello; by the number that the node's row names once the node is theirs. */
  readonly #byNumber = new Map<number, AgentSession>();
  readonly #byNode = new Map<NodeId, AgentSession>();
  /** Equal machines are held once. */
  readonly #facts = new FactsPool();
  readonly #takers: Takers;
  readonly queueReasons = new QueueReasons();
  readonly #packedSpecs = new PackedSpecs();
  readonly #heartbeats: HeartbeatSchedule;
  readonly #times: LinkTimes;
  readonly #lookMs: number;
  #streams = 0;
  #lastNumber: number;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: {
    readonly loop: () => ControlLoop;
    readonly jobOf: (id: JobId) => Job | undefined;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly progressBoard: ProgressBoard;
    /** Times for agents that request none. */
    readonly times?: LinkTimes | undefined;
  }) {
    this.#times = options.times ?? {};
    this.#heartbeats = new HeartbeatSchedule(this.#times);
    this.#lookMs = Math.min(this.#times.heartbeatMs ?? Infinity, limits.heartbeatIntervalMs);
    this.#loop = options.loop;
    this.#jobOf = options.jobOf;
    this.#clock = options.clock;
    this.#progressBoard = options.progressBoard;
    this.#logger = options.logger;
    this.#takers = new Takers(options);
    // A row of an earlier run of the server must not match a session of this one.
    this.#lastNumber = options.clock.nowMs() * 1_000;
    this.#closeSilent();
  }

  get count(): number {
    return this.#byNode.size;
  }

  isConnected(nodeId: NodeId): boolean {
    return this.#byNode.get(nodeId)?.isClosed === false;
  }

  sessionOf(nodeId: NodeId): AgentSession {
    const session = this.#byNode.get(nodeId);
    if (session === undefined) throw gone(nodeId);
    return session;
  }

  /** Accepts a new stream. Its first message must be Hello, within a time limit. */
  open(peer: AgentPeer): AgentStream {
    let session: AgentSession | undefined;
    let isOver = false;
    this.#streams++;
    const refuse = (reason: string, retry: boolean, error?: AppError): void => {
      isOver = true;
      peer.send(toServerMessage({ case: "goodbye", value: { reason, retry } }));
      peer.close(error);
    };
    let cancelTimer = (): void => undefined;
    const awaitHello = (bytesBefore: number, leftMs: number): void => {
      cancelTimer = this.#clock.after(limits.helloTimeoutMs, () => {
        if (session !== undefined || isOver) return;
        const bytes = peer.bytesReceived?.() ?? 0;
        const isLate = bytes === bytesBefore || leftMs <= limits.helloTimeoutMs;
        if (isLate) refuse("the agent did not send Hello in time", true);
        else awaitHello(bytes, leftMs - limits.helloTimeoutMs);
      });
    };
    awaitHello(peer.bytesReceived?.() ?? 0, limits.greetingMsMax);
    if (this.#isClosed) refuse("the server is stopping", true);
    else if (this.#streams > limits.agentSessionsMax) refuse("too many agents are connected", true);
    return {
      message: (message) => {
        if (isOver) return;
        try {
          if (session === undefined) session = this.#hello(message, peer);
          else this.#heard(session, message);
        } catch (error) {
          const reason = describeChain(error);
          const known = AppError.from(error, "read a message");
          this.#logger.warn({ node: session?.nodeId, reason }, "an agent sent an invalid message");
          if (session === undefined) refuse(reason, false, known);
          else session.goodbye(reason, true, known);
        }
      },
      closed: () => {
        isOver = true;
        this.#streams--;
        cancelTimer();
        if (session !== undefined) this.#ended(session);
      },
    };
  }

  #hello(message: AgentMessage, peer: AgentPeer): AgentSession {
    if (message.message.case !== "hello") {
      throw new AppError("invalid_argument", "the first message must be hello");
    }
    authorise(peer.principal, "agents.connect");
    const number = ++this.#lastNumber;
    const { value } = message.message;
    const facts = value.factsJson === "" ? undefined : this.#readFacts(value.factsJson);
    const known = facts instanceof AppError ? undefined : facts;
    const at = { address: peer.address, session: number, nowMs: this.#clock.nowMs() };
    const hello = readHello(value, known, at);
    const own = readTimes(value);
    const shared = { clock: this.#clock, packedSpecs: this.#packedSpecs };
    const times = { ...this.#times, ...own }; // the agent's request takes precedence
    const ownHeartbeatMs = own.heartbeatMs;
    const wantsJobSpec = value.clusterAgent?.wantsJobSpec ?? value.wantsJobSpec;
    const link = { ...shared, peer, parts: value.parts, times, ownHeartbeatMs, wantsJobSpec };
    const session = new AgentSession(number, hello, link);
    if (facts instanceof AppError) this.#warnOfFacts(session, facts);
    this.#byNumber.set(number, session);
    this.#connect(session, hello, nameOf(peer.principal)).catch((error: unknown) => {
      const known = AppError.from(error, "connect node");
      this.#byNumber.delete(number);
      this.#logger.warn({ node: hello.nodeId, reason: describeChain(known) }, "agent refused");
      // A name that belongs to another agent stays with it; other errors may pass.
      session.goodbye(known.message, known.code !== "permission_denied", known);
    });
    return session;
  }

  async #connect(session: AgentSession, hello: NodeHello, openedBy: string): Promise<void> {
    const answer = await this.#loop().submit({ kind: "connect-node", ...hello });
    session.resume(answer, this.#jobOf);
    const { stops } = answer;
    const unknown = stops.filter(({ jobId }) => this.#jobOf(jobId) === undefined).length;
    if (unknown > 0) {
      // They ended and were removed while the agent was disconnected, or their jobs were lost with the data.
      this.#logger.warn(
        { node: session.nodeId, runs: unknown },
        "the agent stops runs of jobs that this server does not have",
      );
    }
    session.welcome();
    if (session.isForCluster) this.#takers.add(session, hello.cluster);
    this.#logger.info({ node: session.nodeId, by: openedBy }, "agent connected");
  }

  #heard(session: AgentSession, { message }: AgentMessage): void {
    session.heard();
    const { principal, nodeId: node, cluster } = session;
    if (message.case !== undefined && message.case !== "hello")
      authoriseMessage(principal, message.case, { node, cluster });
    switch (message.case) {
      case "heartbeat":
        session.answerHeartbeat((nowMs) => this.#heartbeats.next(nowMs));
        return;
      case "reports":
        this.#report(session, message.value);
        return;
      case "output":
        return session.outputArrived(message.value);
      case "attachment":
        return session.attachments.arrived(message.value);
      case "facts":
        return this.#putFacts(session, message.value.json);
      case "health":
        this.#reportHealth(session, readHealth(message.value));
        return;
      case "clock":
        this.#reportClock(session, message.value.aheadMs);
        return;
      case "queued":
        this.queueReasons.replace(session.nodeId, message.value);
        return;
      case "progress":
        this.#progressBoard.told(session.nodeId, readProgressReports(message.value));
        return;
      case "power":
        this.#reportPower(session, readPower(message.value));
        return;
      case "take":
        session.taking.offer(readTake(message.value));
        this.#takers.wake(session);
        return;
      case "mark":
        session.returnMark(message.value.number);
        return;
      case "markSeen":
        session.markReturned(message.value.number);
        return;
      case "hello":
        throw new AppError("invalid_argument", "Hello was sent twice");
      case undefined:
        throw new AppError("invalid_argument", "a message has no content");
    }
  }

  #report(session: AgentSession, reports: Reports): void {
    const events = readReports(reports);
    session.beginReport();
    // Before the commit: it may assign the same held run again, which must not be confused with the old one.
    for (const { kind, run } of events) if (kind === "returned") session.runEnded(run);
    const { nodeId, number } = session;
    const nowMs = this.#clock.nowMs();
    this.#loop()
      .submit({ kind: "report-runs", nodeId, session: number, events, nowMs })
      .then(
        ({ stops }) => {
          for (const run of stops) session.stop(run);
          session.endReport(reports.seq);
        },
        (error: unknown) => session.goodbye(describeChain(error), true),
      );
  }

  /** In the order of the reports: a node that returns tasks has reported before that it is unhealthy. */
  #reportHealth(session: AgentSession, sickness: string | undefined): void {
    logHealth(this.#logger, session.nodeId, sickness);
    const told = { sickness, nowMs: this.#clock.nowMs() };
    session.orGoodbye(this.#loop().submit({ kind: "report-health", ...session.ref, ...told }));
  }

  #reportClock(session: AgentSession, told: number): void {
    const aheadMs = readClock(told);
    logClock(this.#logger, session.nodeId, aheadMs);
    session.orGoodbye(this.#loop().submit({ kind: "report-clock", ...session.ref, aheadMs }));
  }

  #reportPower(session: AgentSession, told: Power): void {
    const store = (power: Power): Promise<unknown> =>
      this.#loop().submit({
        kind: "report-power",
        ...session.ref,
        power,
        nowMs: this.#clock.nowMs(),
      });
    session.orGoodbye(session.storePower(told, store));
  }

  #readFacts(json: string): NodeFacts | AppError {
    try {
      return this.#facts.share(parseNodeFacts(json, "facts"));
    } catch (error) {
      return AppError.from(error, "read facts");
    }
  }

  /** The server does not refuse an agent whose facts cannot be read: its capacity is enough. */
  #warnOfFacts(session: AgentSession, error: AppError): void {
    if (!session.refuseFacts()) return;
    const reason = describeChain(error);
    this.#logger.warn({ node: session.nodeId, reason }, "ignored invalid facts of a machine");
  }

  #putFacts(session: AgentSession, json: string): void {
    const read = this.#readFacts(json);
    if (read instanceof AppError) {
      this.#warnOfFacts(session, read);
      return;
    }
    const store = (facts: NodeFacts): Promise<unknown> =>
      this.#loop().submit({ kind: "put-facts", ...session.ref, facts });
    session.orGoodbye(session.storeFacts(read, store));
  }

  #ended(session: AgentSession): void {
    session.close();
    this.#byNumber.delete(session.number);
    this.#takers.remove(session);
    if (this.#byNode.get(session.nodeId) === session) {
      this.#byNode.delete(session.nodeId);
      this.queueReasons.drop(session.nodeId);
    }
    if (this.#isClosed) return;
    const { nodeId, number } = session;
    const nowMs = this.#clock.nowMs();
    const heardAtMs = session.lastSignOfLifeMs(nowMs);
    this.#loop()
      .submit({ kind: "disconnect-node", nodeId, session: number, heardAtMs, nowMs })
      .catch((error: unknown) => {
        const reason = describeChain(error);
        this.#logger.warn({ node: nodeId, reason }, "could not store a disconnect");
      });
  }

  /** Sends agents the work of a durable commit. */
  committed({ changes }: Commit): void {
    const touched = new Set<AgentSession>();
    for (const change of changes) {
      if (change.table === "task") {
        const session = this.#taskChanged(change.row);
        if (session !== undefined) touched.add(session);
        if (change.row.state.kind === "offered") this.#takers.offered(change.row.state.cluster);
      } else if (change.table === "node" && "row" in change) {
        const { id, link } = change.row;
        if (link.kind === "connected") this.#nodeConnected(id, link.session);
      }
    }
    if (changes.some(mayReleaseOffers)) this.#takers.released();
    for (const session of touched) session.flush();
  }

  /**
   * The session that the row names may have ended meanwhile. The session before it is over all the same: its agent no longer counts as
   * connected.
   */
  #nodeConnected(id: NodeId, number: number): void {
    const before = this.#byNode.get(id);
    if (before?.number === number) return;
    const session = this.#byNumber.get(number);
    if (session === undefined) this.#byNode.delete(id);
    else this.#byNode.set(id, session);
    before?.goodbye("another session of this agent took over", true);
  }

  #taskChanged({ jobId, index, attempt, state, past, share }: Task): AgentSession | undefined {
    const nodeId = "nodeId" in state ? state.nodeId : past.at(-1)?.nodeId;
    const session = nodeId === undefined ? undefined : this.#byNode.get(nodeId);
    if (session === undefined) return undefined;
    const run = { jobId, index, attempt, ...(share === undefined ? {} : { share }) };
    session.taskChanged(run, state, this.#jobOf(jobId));
    return session;
  }

  /**
   * One timer for all sessions closes the silent ones. Time in which this process did not run
   * does not count, because it read no message then. A change of the system's clock does not count either.
   */
  #closeSilent(): void {
    const dueMs = this.#clock.nowMs() + this.#lookMs;
    this.#cancelTimer = this.#clock.after(this.#lookMs, () => {
      const nowMs = this.#clock.nowMs();
      for (const session of this.#byNumber.values()) {
        session.excuse(nowMs - dueMs, nowMs);
        if (session.isSilent(nowMs)) session.goodbye("the agent was silent for too long", true);
        else if (session.owesReturns(nowMs)) session.goodbye("held tasks were not returned", true);
      }
      this.#closeSilent();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer?.();
    for (const session of this.#byNumber.values()) session.goodbye("the server is stopping", true);
  }
}
