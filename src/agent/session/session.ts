import type { ServerMessage, Welcome, Work } from "../../gen/busbar/v1/agent_pb.ts";
import { describeChain, invalid } from "../../lib/errors.ts";
import { ENCODINGS } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import { steadyMs } from "../../ports/clock.ts";
import type { RunId, RunRequest } from "../../ports/executor.ts";
import { type CachedSpec, CachedSpecs } from "./cached-specs.ts";
import { type HeldStart, HeldRuns, makesRoom } from "./held-runs.ts";
import { toHello } from "./hello.ts";
import { runKey } from "../runs/run-key.ts";
import type { Link } from "../link/link.ts";
import { Liveness } from "./liveness.ts";
import { Outbox, type Outgoing, type Reported } from "./outbox.ts";
import { OutputLane } from "../output/output-lane.ts";
import { OutputRequests } from "../output/output-requests.ts";
import { Attachments } from "../attach/attachments.ts";
import type { RunProgress } from "./tellers/progress-teller.ts";
import { Tellers } from "./tellers/tellers.ts";
import { stoppedBeforeStart } from "../run-times.ts";
import { SessionClocks } from "./session-clocks.ts";
import type { SessionEnd, SessionOptions } from "./session-options.ts";
import {
  fromWireId,
  toAgentMessage,
  sharesOf,
  toAgentPower,
  toRunEvents,
  toRunRequest,
  toWireId,
} from "../translate.ts";
import { WorkQueue } from "./work-queue.ts";

/**
 * One stream to the server, from Hello to its end.
 *
 *   greeting --Welcome--> open --close, silence, invalid message, Goodbye--> over
 *
 * The agent reports and starts nothing before Welcome. After the end it sends nothing, and drops starts that were still queued: the next
 * Hello does not name it, so the server sends it again.
 */
export class ServerSession {
  readonly #options: SessionOptions;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #queue: WorkQueue;
  readonly #outputs: OutputRequests;
  readonly #outputLane: OutputLane;
  readonly #held: HeldRuns;
  readonly #attachments: Attachments;
  /** Runs of this session: the server counts their resources as used until it receives their end. */
  readonly #begun = new Set<string>();
  readonly #specs = new CachedSpecs();
  #phase: "greeting" | "open" | "over" = "greeting";
  readonly #liveness: Liveness;
  readonly #clocks: SessionClocks;
  readonly #tellers: Tellers;
  #cancelGreeting: () => void = () => undefined;
  /** The facts of the machine that the server has. */
  #factsJson = "";
  /** The health that the server has; older servers do not ask for it. */
  #sickness: string | undefined = undefined;
  #wantsHealth = false;

  constructor(options: SessionOptions) {
    const { clock } = options;
    this.#options = options;
    this.#queue = new WorkQueue(clock);
    this.#held = new HeldRuns(options.runs.ahead);
    this.#outbox = new Outbox({
      clock,
      send: (seq, events) => this.#sendReports(seq, events),
      onAcknowledged: (events) => this.#acknowledged(events),
    });
    const { bandwidthBytes = Infinity } = options.facts;
    this.#outputLane = new OutputLane(clock, bandwidthBytes, (number) =>
      this.#send({ case: "mark", value: { number } }),
    );
    this.#outputs = new OutputRequests(options.executor, this.#outputLane, (chunk) => {
      if (this.#phase === "open") this.#send({ case: "output", value: chunk });
    });
    const send = (message: Parameters<typeof toAgentMessage>[0]): void => this.#send(message);
    this.#attachments = new Attachments(options.executor, this.#outputLane, send);
    this.#clocks = new SessionClocks({
      ...options,
      tell: (aheadMs) => this.#send({ case: "clock", value: { aheadMs } }),
    });
    this.#tellers = new Tellers(options, send, () => !this.#queue.isEmpty);
    this.#liveness = new Liveness(clock, {
      beat: () => {
        this.#tellers.queue.tellChanges();
        this.#clocks.heartbeatSent();
        this.#send({ case: "heartbeat", value: {} });
      },
      silent: () => this.#lose("the server was silent for too long"),
      bytesReceived: () => this.#link.bytesReceived?.() ?? 0,
    });
    this.#awaitWelcome();
    this.#link = options.connect({
      onMessage: (message) => this.#onMessage(message),
      onClose: (reason) => this.#lose(reason),
    });
    this.#sendHello();
  }

  /** Passes on a report of a run; before Welcome it waits with everything else that is known. */
  report(key: string, reported: Reported): void {
    if (this.#phase !== "open") return;
    this.#noteBegun(reported.id, key);
    if (reported.report.kind === "ended") this.#tellers.progress.ended(key);
    const next = this.#nextAfter(key, reported);
    // In one report, before any report of the next one: the server releases the one and binds
    // the other in one step.
    this.#outbox.push(key, next === undefined ? reported : { ...reported, began: next.id });
    next?.begin();
  }

  /** Passes on the progress of a run; before Welcome it waits. */
  progressed(key: string, run: RunProgress): void {
    if (this.#phase === "open") this.#tellers.progress.changed(key, run);
  }

  /** The executor has begun a held run by itself. */
  #noteBegun(id: RunId, key: string): void {
    if (this.#held.withdraw(key) === undefined) return;
    this.#begun.add(key);
    this.#specs.unqueue(id);
  }

  /** The held run that begins in the slot of an ended one. */
  #nextAfter(key: string, { id, report }: Reported): HeldStart | undefined {
    if (report.kind !== "ended" || !this.#begun.delete(key) || !makesRoom(report.end)) {
      return undefined;
    }
    const needs = this.#specs.get(id.jobId)?.needs;
    if (needs === undefined || this.#options.health.sickness !== undefined) return undefined;
    return this.#held.nextAfter(id, needs);
  }

  /** Sends the facts of the machine if they changed since the last message; before Welcome it waits. */
  tellFacts(): void {
    const json = this.#options.facts.machineFacts?.() ?? "";
    if (this.#phase !== "open" || json === this.#factsJson) return;
    this.#factsJson = json;
    this.#send({ case: "facts", value: { json } });
  }

  /** Reports whether the agent can start processes, if that changed since the last message; before Welcome it waits. */
  tellHealth(): void {
    const { sickness } = this.#options.health;
    if (this.#phase !== "open" || !this.#wantsHealth || sickness === this.#sickness) return;
    this.#sickness = sickness;
    this.#send({ case: "health", value: { sickness: sickness ?? "" } });
  }

  /** Sends the node's power for shares if it changed since the last message; before Welcome it waits. */
  tellPower(): void {
    if (this.#phase === "open") this.#tellers.power.changed();
  }

  /** Soon sends the capacity that the agent would accept, if it changed since the last message; before Welcome it waits. */
  tellRoom(): void {
    if (this.#phase === "open") this.#tellers.room.tellSoon();
  }

  /** Ends the session from this side; does not call onEnd. */
  close(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#cancelGreeting();
    this.#liveness.stop();
    this.#tellers.close();
    this.#outbox.close();
    this.#attachments.close();
    this.#outputs.close();
    this.#queue.clear();
    this.#held.clear();
    this.#link.close();
  }

  #end(end: SessionEnd): void {
    if (this.#phase === "over") return;
    this.close();
    this.#options.onEnd(end);
  }

  #lose(reason: string): void {
    this.#end({ kind: "lost", reason, wasWelcomed: this.#phase === "open" });
  }

  /** On a thin link Hello may take long to arrive: while bytes arrive, Welcome may take long too. */
  #awaitWelcome(bytesBefore = 0, leftMs: number = limits.greetingMsMax): void {
    this.#cancelGreeting = this.#options.clock.after(limits.helloTimeoutMs, () => {
      const bytes = this.#link.bytesReceived?.() ?? 0;
      const isOver = bytes === bytesBefore || leftMs <= limits.helloTimeoutMs;
      if (isOver) this.#lose("the server did not answer Hello in time");
      else this.#awaitWelcome(bytes, leftMs - limits.helloTimeoutMs);
    });
  }

  #sendHello(): void {
    const { facts, runs, health, heldSpecs } = this.#options;
    this.#factsJson = facts.machineFacts?.() ?? "";
    this.#sickness = health.sickness;
    const power = this.#tellers.power.greeting();
    const value = {
      ...toHello(facts),
      runs: runs.ids().map(toWireId),
      factsJson: this.#factsJson,
      ...(this.#sickness !== undefined && { health: { sickness: this.#sickness } }),
      ...(power !== undefined && { power: toAgentPower(power) }),
      parts: { encodings: [...ENCODINGS], heldSpecs: heldSpecs.list() },
    };
    this.#send({ case: "hello", value });
  }

  #onMessage(message: ServerMessage): void {
    if (this.#phase === "over") return;
    try {
      this.#handle(message.message);
    } catch (error) {
      // Whatever the server sends must not end an agent that has runs.
      const why = describeChain(error);
      this.#options.logger.warn({ error: why }, "the server sent an invalid message");
      this.#lose(`invalid message from the server: ${why}`);
    }
  }

  #handle(message: ServerMessage["message"]): void {
    if (message.case === "goodbye") return this.#onGoodbye(message.value);
    if (message.case === "welcome") return this.#onWelcome(message.value);
    if (this.#phase === "greeting")
      throw invalid("message", "the first must be Welcome or Goodbye");
    this.#liveness.heard();
    switch (message.case) {
      case "work":
        return this.#onWork(message.value);
      case "specPart":
        return this.#options.heldSpecs.add(message.value);
      case "mark":
        return this.#send({ case: "markSeen", value: { number: message.value.number } });
      case "markSeen":
        return this.#outputLane.markReturned(message.value.number);
      case "ack":
        return this.#outbox.acknowledge(message.value.seq);
      case "output":
        return this.#outputs.serve(message.value);
      case "attachment":
        return this.#attachments.serve(message.value);
      case "heartbeat": // without an interval: from an older server
        this.#clocks.heartbeatAnswered(message.value.serverTimeMs);
        if (message.value.intervalMs > 0) this.#liveness.setInterval(message.value.intervalMs);
        return undefined;
      case undefined: // from a newer server: ignored
        return undefined;
    }
  }

  #onGoodbye({ reason, retry }: { readonly reason: string; readonly retry: boolean }): void {
    if (retry) this.#lose(`the server said goodbye: ${reason}`);
    else this.#end({ kind: "refused", reason });
  }

  #onWelcome(welcome: Welcome): void {
    const { heartbeatIntervalMs, wantsHealth, serverTimeMs, wantsClock } = welcome;
    if (this.#phase !== "greeting") throw invalid("welcome", "comes once");
    if (heartbeatIntervalMs < 1) throw invalid("heartbeat_interval_ms", "must be positive");
    this.#phase = "open";
    this.#outputLane.open(welcome.parts);
    this.#options.logger.info({ node: this.#options.facts.name }, "connected");
    this.#cancelGreeting();
    const silenceMs = welcome.silenceMs > 0 ? welcome.silenceMs : undefined;
    this.#liveness.setTimes({ heartbeatMs: heartbeatIntervalMs, silenceMs });
    this.#liveness.setInterval(heartbeatIntervalMs);
    this.#clocks.welcomed(serverTimeMs, wantsClock);
    this.#wantsHealth = wantsHealth;
    this.tellHealth(); // before the reports that it explains
    for (const [key, reported] of this.#options.runs.entries()) this.#outbox.push(key, reported);
    this.#tellers.welcomed(welcome);
    this.tellFacts();
    this.tellRoom();
  }

  #send(message: Parameters<typeof toAgentMessage>[0]): void {
    this.#liveness.sent();
    this.#link.send(toAgentMessage(message));
  }

  #onWork(work: Work): void {
    for (const spec of work.specs) this.#specs.add(spec);
    for (const { job, digest } of work.specRefs) {
      this.#specs.add(this.#options.heldSpecs.take(job, digest));
    }
    const shares = sharesOf(work);
    const starts = new Map<string, () => void>();
    for (const wireId of work.starts) {
      const id = fromWireId(wireId);
      const key = runKey(id);
      const cached = this.#specs.of(id, "work.starts");
      if (starts.has(key) || this.#queue.has(key)) continue;
      if (this.#held.withdraw(key) === undefined) cached.queued += 1;
      const share = shares.get(key);
      starts.set(key, () => this.#start(this.#specs.of(id, "work.starts"), id, share));
    }
    this.#onHolds(work);
    const stops = work.stops.map((wireId) => {
      const id = fromWireId(wireId);
      return () => this.#stop(id);
    });
    this.#queue.push(starts, stops);
    for (const wireId of work.withdrawn) this.#withdraw(fromWireId(wireId));
    for (const wireId of work.returns) this.#giveBack(fromWireId(wireId));
    this.#tellers.room.used(work.starts.length + work.withdrawn.length);
  }

  #onHolds({ holds }: Work): void {
    for (const { id: wireId, heldAtMs } of holds) {
      const id = fromWireId(wireId);
      const key = runKey(id);
      const cached = this.#specs.of(id, "work.holds");
      if (this.#held.has(key) || this.#queue.has(key)) continue;
      cached.queued += 1;
      const begin = (): void => this.#start(this.#specs.of(id, "work.holds"), id);
      this.#held.add(cached.needs, { id, heldAtMs, begin }, () => this.#requestOf(cached, id));
    }
  }

  /** The agent does not return a run that has begun: the server receives its reports. */
  #giveBack(id: RunId): void {
    const unbegun = ({ heldAtMs }: HeldStart): void => {
      this.#specs.unqueue(id);
      this.#outbox.push(runKey(id), { id, report: { kind: "returned", heldAtMs } });
    };
    this.#held.release(id, { unbegun });
  }

  #start(cached: CachedSpec, id: RunId, shareWattSeconds?: number): void {
    const { runs, health } = this.#options;
    cached.queued -= 1;
    const known = runs.get(id);
    if (known?.report.kind !== "ended") this.#begun.add(runKey(id));
    if (known === undefined && health.sickness !== undefined) {
      runs.giveBack(id, health.sickness);
    } else if (known === undefined) {
      runs.start(this.#requestOf(cached, id, shareWattSeconds));
    } else {
      this.#outbox.push(runKey(id), known); // the server has missed it
    }
  }

  #requestOf({ spec }: CachedSpec, id: RunId, shareWattSeconds?: number): RunRequest {
    const { name: node, cluster } = this.#options.facts;
    return toRunRequest(spec, id, { node, cluster }, shareWattSeconds);
  }

  /** A start that has not begun ends here: the executor never receives it. */
  #stop(id: RunId): void {
    const key = runKey(id);
    const stopped = (): void => {
      this.#specs.unqueue(id);
      this.#reportStopped(id);
    };
    const { executor } = this.#options;
    if (this.#held.has(key)) {
      this.#held.release(id, { unbegun: stopped, begun: () => executor.stop(id) });
    } else if (this.#queue.withdraw(key)) stopped();
    else executor.stop(id);
  }

  /** It was stopped while its spec was on its way. */
  #withdraw(id: RunId): void {
    this.#reportStopped(id);
    const { runs, heldSpecs } = this.#options;
    if (this.#specs.get(id.jobId) === undefined && !runs.hasJob(id.jobId))
      heldSpecs.release(id.jobId);
  }

  #reportStopped(id: RunId): void {
    const report = stoppedBeforeStart(steadyMs(this.#options.clock));
    this.#outbox.push(runKey(id), { id, report });
  }

  #sendReports(seq: number, events: readonly Outgoing[]): void {
    const { serverTime } = this.#options;
    const value = { seq, events: toRunEvents(events, (momentMs) => serverTime.at(momentMs)) };
    this.#send({ case: "reports", value });
  }

  #acknowledged(events: readonly Outgoing[]): void {
    const { runs, heldSpecs } = this.#options;
    for (const { id, report } of events) {
      if (report.kind === "running") continue;
      if (report.kind === "ended") runs.forget(id);
      if (this.#specs.isQueued(id.jobId) || runs.hasJob(id.jobId)) continue;
      this.#specs.delete(id.jobId);
      heldSpecs.release(id.jobId);
    }
  }
}
