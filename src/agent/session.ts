import type { RunSpec, ServerMessage, Welcome, Work } from "../gen/busbar/v1/agent_pb.ts";
import { describeChain, invalid } from "../lib/errors.ts";
import { isDeepEqual } from "../lib/is-deep-equal.ts";
import { limits } from "../limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Executor, RunId } from "../ports/executor.ts";
import type { Logger } from "../ports/logger.ts";
import type { Room } from "./cluster/room.ts";
import { NO_ROOM } from "./cluster/room.ts";
import type { KnownRuns } from "./known-runs.ts";
import { runKey } from "./known-runs.ts";
import type { Connect, Link } from "./link.ts";
import { Liveness } from "./liveness.ts";
import type { Reported } from "./outbox.ts";
import { Outbox } from "./outbox.ts";
import { OutputRequests } from "./output-requests.ts";
import { fromWireId, toAgentMessage, toRunEvent, toRunRequest, toWireId } from "./translate.ts";
import { WorkQueue } from "./work-queue.ts";

/** Who the agent is and what it has: the same in every session. */
export interface AgentFacts {
  readonly name: string;
  readonly cluster: string;
  readonly agentKey: string;
  readonly bootId: string;
  readonly version: string;
  readonly capacity: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** What the machine has, as JSON of NodeFacts; the newest each time it is asked. */
  readonly machineFacts?: () => string;
  /** It speaks for a whole cluster that pulls. */
  readonly clusterAgent?: ClusterAgentFacts;
}

export interface ClusterAgentFacts {
  /** How long it may be away before what it took is lost; 0: the server's own time. */
  readonly leaseMs: number;
  readonly onLost: "requeue" | "keep" | "fail";
  /** What it would take now; the newest each time it is asked. */
  readonly room: () => Room;
}

/** Whether the agent can start anything. */
export interface SessionHealth {
  readonly sickness: string | undefined;
}

export type SessionEnd =
  | { readonly kind: "lost"; readonly reason: string; readonly wasWelcomed: boolean }
  | { readonly kind: "refused"; readonly reason: string }; // dialling again will not help

export interface SessionOptions {
  readonly facts: AgentFacts;
  readonly connect: Connect;
  readonly executor: Executor;
  readonly runs: KnownRuns;
  readonly health: SessionHealth;
  readonly clock: Clock;
  readonly logger: Logger;
  onEnd(end: SessionEnd): void;
}

interface CachedSpec {
  readonly spec: RunSpec;
  queued: number; // starts that wait for their turn
}

/**
 * One stream to the server, from Hello to its end.
 *
 *   greeting --Welcome--> open --close, silence, nonsense, Goodbye--> over
 *
 * Nothing is reported and nothing started before Welcome. After the end nothing is sent, and work
 * that was still queued is dropped: the next Hello does not name it, so the server sends it again.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #link: Link;
  readonly #outbox: Outbox;
  readonly #queue: WorkQueue;
  readonly #outputs: OutputRequests;
  /** Of jobs with a run here or in the queue, just as the server counts them. */
  readonly #specs = new Map<number, CachedSpec>();
  #phase: "greeting" | "open" | "over" = "greeting";
  readonly #liveness: Liveness;
  #cancelGreeting: () => void;
  /** What the server was told of the machine. */
  #factsJson = "";
  /** What it was told of our health; older ones do not want to know. */
  #sickness: string | undefined = undefined;
  #wantsHealth = false;
  /** What it was told would be taken; undefined: it has used some of that since. */
  #room: Room | undefined = NO_ROOM;
  #cancelRoom: (() => void) | undefined;
  /** Of this session: the server compares it with what it has sent. */
  #startsSeen = 0;

  constructor(options: SessionOptions) {
    const { clock } = options;
    this.#options = options;
    this.#queue = new WorkQueue(clock);
    this.#outbox = new Outbox({
      clock,
      send: (seq, events) => this.#sendReports(seq, events),
      onAcknowledged: (events) => this.#acknowledged(events),
    });
    this.#outputs = new OutputRequests(options.executor, (chunk) => {
      if (this.#phase === "open") this.#send({ case: "output", value: chunk });
    });
    this.#liveness = new Liveness(clock, {
      beat: () => this.#send({ case: "heartbeat", value: {} }),
      silent: () => this.#lose("the server was silent for too long"),
    });
    this.#cancelGreeting = clock.after(limits.helloTimeoutMs, () =>
      this.#lose("no Welcome in time"),
    );
    this.#link = options.connect({
      onMessage: (message) => this.#onMessage(message),
      onClose: (reason) => this.#lose(reason),
    });
    this.#sendHello();
  }

  /** Passes a run's news on; before Welcome it waits with everything else that is known. */
  report(key: string, reported: Reported): void {
    if (this.#phase === "open") this.#outbox.push(key, reported);
  }

  /** Tells what the machine has if it is not what was told; before Welcome it waits. */
  tellFacts(): void {
    const json = this.#options.facts.machineFacts?.() ?? "";
    if (this.#phase !== "open" || json === this.#factsJson) return;
    this.#factsJson = json;
    this.#send({ case: "facts", value: { json } });
  }

  /** Says whether anything can be started, if the server knows otherwise; before Welcome it waits. */
  tellHealth(): void {
    const { sickness } = this.#options.health;
    if (this.#phase !== "open" || !this.#wantsHealth || sickness === this.#sickness) return;
    this.#sickness = sickness;
    this.#send({ case: "health", value: { sickness: sickness ?? "" } });
  }

  /** Tells soon what would be taken now, if it is not what was told; before Welcome it waits. */
  tellRoom(): void {
    const { clusterAgent } = this.#options.facts;
    if (clusterAgent === undefined || this.#phase !== "open") return;
    this.#cancelRoom ??= this.#options.clock.after(limits.reportCoalesceMs, () => {
      this.#cancelRoom = undefined;
      if (this.#queue.isEmpty) this.#sendTake(clusterAgent.room());
      else this.tellRoom(); // what is about to be started takes some of it
    });
  }

  /** Ends it from our side; onEnd is not called. */
  close(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#cancelGreeting();
    this.#liveness.stop();
    this.#cancelRoom?.();
    this.#outbox.close();
    this.#queue.clear();
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

  #sendHello(): void {
    const { facts, runs, health } = this.#options;
    this.#factsJson = facts.machineFacts?.() ?? "";
    this.#sickness = health.sickness;
    const value = {
      node: facts.name,
      cluster: facts.cluster,
      agentKey: facts.agentKey,
      bootId: facts.bootId,
      version: facts.version,
      capacity: { ...facts.capacity },
      labels: { ...facts.labels },
      runs: runs.ids().map(toWireId),
      factsJson: this.#factsJson,
      ...(this.#sickness !== undefined && { health: { sickness: this.#sickness } }),
      ...(facts.clusterAgent && {
        clusterAgent: { leaseMs: facts.clusterAgent.leaseMs, onLost: facts.clusterAgent.onLost },
      }),
    };
    this.#send({ case: "hello", value });
  }

  #onMessage(message: ServerMessage): void {
    if (this.#phase === "over") return;
    try {
      this.#handle(message.message);
    } catch (error) {
      // Whatever the server sent, an agent with work to look after does not die of it.
      this.#options.logger.warn({ error: describeChain(error) }, "the server sent nonsense");
      this.#lose(`nonsense from the server: ${describeChain(error)}`);
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
      case "ack":
        return this.#outbox.acknowledge(message.value.seq);
      case "output":
        return this.#outputs.serve(message.value);
      case "heartbeat": // without an interval: of an older server
        if (message.value.intervalMs > 0) this.#liveness.setInterval(message.value.intervalMs);
        return undefined;
      case undefined: // of a newer server: not for us
        return undefined;
    }
  }

  #onGoodbye({ reason, retry }: { readonly reason: string; readonly retry: boolean }): void {
    if (retry) this.#lose(`the server said goodbye: ${reason}`);
    else this.#end({ kind: "refused", reason });
  }

  #onWelcome({ heartbeatIntervalMs, wantsHealth }: Welcome): void {
    if (this.#phase !== "greeting") throw invalid("welcome", "comes once");
    if (heartbeatIntervalMs < 1) throw invalid("heartbeat_interval_ms", "must be positive");
    this.#phase = "open";
    this.#options.logger.info({ node: this.#options.facts.name }, "connected");
    this.#cancelGreeting();
    this.#liveness.setInterval(heartbeatIntervalMs);
    this.#wantsHealth = wantsHealth;
    this.tellHealth(); // before what it explains
    for (const [key, reported] of this.#options.runs.entries()) this.#outbox.push(key, reported);
    this.tellFacts();
    this.tellRoom();
  }

  #send(message: Parameters<typeof toAgentMessage>[0]): void {
    this.#liveness.sent();
    this.#link.send(toAgentMessage(message));
  }

  #onWork(work: Work): void {
    for (const spec of work.specs) {
      this.#specs.set(spec.job, { spec, queued: this.#specs.get(spec.job)?.queued ?? 0 });
    }
    const starts = new Map<string, () => void>();
    for (const wireId of work.starts) {
      const id = fromWireId(wireId);
      const key = runKey(id);
      const cached = this.#specs.get(id.jobId);
      if (cached === undefined)
        throw invalid("work.starts", `job ${id.jobId} came without its spec`);
      if (starts.has(key) || this.#queue.has(key)) continue;
      cached.queued += 1;
      starts.set(key, () => this.#start(cached, id));
    }
    const stops = work.stops.map((wireId) => {
      const id = fromWireId(wireId);
      return () => this.#stop(id);
    });
    this.#queue.push(starts, stops);
    if (work.starts.length === 0) return;
    this.#startsSeen += work.starts.length;
    this.#room = undefined;
    this.tellRoom();
  }

  #start(cached: CachedSpec, id: RunId): void {
    const { runs, facts, health, clock } = this.#options;
    cached.queued -= 1;
    const known = runs.get(id);
    if (known === undefined && health.sickness !== undefined) {
      runs.giveBack(id, health.sickness, clock.nowMs());
    } else if (known === undefined) {
      runs.start(toRunRequest(cached.spec, id, { node: facts.name, cluster: facts.cluster }));
    } else {
      this.#outbox.push(runKey(id), known); // the server has missed it
    }
  }

  /** A start that has not begun ends here: the executor never hears of it. */
  #stop(id: RunId): void {
    const { executor, clock } = this.#options;
    const key = runKey(id);
    if (!this.#queue.withdraw(key)) {
      executor.stop(id);
      return;
    }
    const cached = this.#specs.get(id.jobId);
    if (cached !== undefined) cached.queued -= 1;
    const end = { kind: "stopped", signal: undefined } as const;
    const report = {
      kind: "ended",
      startedAtMs: undefined,
      endedAtMs: clock.nowMs(),
      end,
    } as const;
    this.#outbox.push(key, { id, report });
  }

  #sendTake(room: Room): void {
    if (isDeepEqual(room, this.#room)) return;
    this.#room = room;
    const value = { tasks: room.tasks, free: { ...room.free }, seen: this.#startsSeen };
    this.#send({ case: "take", value });
  }

  #sendReports(seq: number, events: readonly Reported[]): void {
    const value = { seq, events: events.map(({ id, report }) => toRunEvent(id, report)) };
    this.#send({ case: "reports", value });
  }

  #acknowledged(events: readonly Reported[]): void {
    const { runs } = this.#options;
    for (const { id, report } of events) {
      if (report.kind !== "ended") continue;
      runs.forget(id);
      const isQueued = (this.#specs.get(id.jobId)?.queued ?? 0) > 0;
      if (!isQueued && !runs.hasJob(id.jobId)) this.#specs.delete(id.jobId);
    }
  }
}
