import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { SERVER } from "../../../core/access/principal.ts";
import {
  type AgentMessage,
  AgentMessageSchema,
  HealthSchema,
  HeartbeatSchema,
  HelloSchema,
  OutputChunkSchema,
  ReportsSchema,
  type RunEvent,
  type ServerMessage,
  type Work,
} from "../../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../../limits.ts";
import type { AgentPeer } from "../../../server/sessions/agent-session.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";
import { message } from "../../grpc/calls/wire-message.ts";

type Said = AgentMessage["message"];
type HelloInit = MessageInitShape<typeof HelloSchema>;

export interface AgentLinkOptions {
  readonly sessions: AgentSessions;
  readonly hello: HelloInit;
  readonly address: string | undefined;
  readonly onWelcome: () => void;
  readonly onWork: (work: Work) => void;
  /** These events are durable. */
  readonly onDurable: (events: readonly RunEvent[]) => void;
  /** It has ended, not by `close`. `isFinal`: another one would be refused too. */
  readonly onOver: (reason: string, isFinal: boolean) => void;
}

/**
 * The stream of an agent without a network and without an executor: a worker of rik runs the tasks. It delivers events in order of arrival,
 * all of one moment together.
 */
export class AgentLink {
  readonly #options: AgentLinkOptions;
  readonly #stream: ReturnType<AgentSessions["open"]>;
  #phase: "greeting" | "open" | "over" = "greeting";
  #waiting: RunEvent[] = [];
  readonly #inFlight = new Map<number, readonly RunEvent[]>();
  #seq = 0;
  #isDue = false;
  #sickness = "";
  #sentSickness = "";

  constructor(options: AgentLinkOptions) {
    this.#options = options;
    const peer: AgentPeer = {
      principal: SERVER,
      address: options.address,
      send: (message) => queueMicrotask(() => this.#hear(message)),
      close: () => queueMicrotask(() => this.#end("the server ended it", false)),
    };
    this.#stream = options.sessions.open(peer);
    this.#say({ case: "hello", value: create(HelloSchema, options.hello) });
  }

  report(event: RunEvent): void {
    this.#waiting.push(event);
    this.#flushSoon();
  }

  /** Why the worker can start nothing; empty: it can. */
  setSickness(reason: string): void {
    this.#sickness = reason;
    if (this.#phase === "open") this.#tellHealth();
  }

  /** The worker has given a sign of life. */
  beat(): void {
    if (this.#phase === "open") this.#say({ case: "heartbeat", value: create(HeartbeatSchema) });
  }

  close(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#stream.closed();
  }

  #end(reason: string, isFinal: boolean): void {
    if (this.#phase === "over") return;
    this.close();
    this.#options.onOver(reason, isFinal);
  }

  #hear({ message: heard }: ServerMessage): void {
    if (this.#phase === "over") return;
    switch (heard.case) {
      case "welcome":
        this.#phase = "open";
        this.#options.onWelcome();
        this.#tellHealth();
        this.#flushSoon();
        return;
      case "work":
        return this.#options.onWork(heard.value);
      case "ack":
        return this.#acknowledged(heard.value.seq);
      case "goodbye":
        return this.#end(heard.value.reason, !heard.value.retry);
      case "output":
        return this.#say({
          case: "output",
          value: create(OutputChunkSchema, {
            request: heard.value.request,
            eof: true,
            error: NO_OUTPUT,
          }),
        });
      case "attachment": // no worker has can_attach
      case "heartbeat":
      case "specPart":
      case "mark":
      case "markSeen":
      case undefined:
    }
  }

  #tellHealth(): void {
    if (this.#sickness === this.#sentSickness) return;
    this.#sentSickness = this.#sickness;
    this.#say({ case: "health", value: create(HealthSchema, { sickness: this.#sickness }) });
  }

  /** Acks are cumulative. */
  #acknowledged(seq: number): void {
    for (const [one, events] of this.#inFlight) {
      if (one > seq) break;
      this.#inFlight.delete(one);
      this.#options.onDurable(events);
    }
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isDue || this.#waiting.length === 0 || this.#phase !== "open") return;
    if (this.#inFlight.size >= limits.rikReportsInFlightMax) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    this.#isDue = false;
    if (this.#phase !== "open") return;
    const events = this.#waiting.splice(0, limits.reportEventsPerMessageMax);
    this.#inFlight.set(++this.#seq, events);
    this.#say({ case: "reports", value: message(ReportsSchema, { seq: this.#seq, events }) });
    this.#flushSoon();
  }

  #say(said: Said): void {
    if (this.#phase === "over") return;
    this.#stream.message(message(AgentMessageSchema, { message: said }));
  }
}

const NO_OUTPUT = "workers of rik keep the output of their instances to themselves";
