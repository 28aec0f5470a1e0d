import { LOCAL } from "../../src/core/access/principal.ts";
import { clone, create, toBinary } from "@bufbuild/protobuf";
import type { Link, LinkEvents } from "../../src/agent/link/link.ts";
import type { AgentMessage, RunEvent, ServerMessage } from "../../src/gen/busbar/v1/agent_pb.ts";
import {
  AgentMessageSchema,
  ServerMessageSchema,
  WorkSchema,
} from "../../src/gen/busbar/v1/agent_pb.ts";
import type { AgentPeer } from "../../src/server/sessions/agent-session.ts";
import type { AgentStream } from "../../src/server/sessions/agent-sessions.ts";
import { Pipe } from "./pipe.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import type { Timeline } from "./timeline.ts";
import { formatRun } from "./durable.ts";
import { toRun } from "./told.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

export interface StreamOptions {
  readonly node: string;
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly seams: Seams;
  readonly events: LinkEvents;
  /** The rate of its link, each way. */
  readonly bytesPerMs: number;
}

/**
 * One stream between an agent and the server. Either end may close it (sent messages still arrive), it may break (messages on their way are
 * lost, and each end notices it late or never), and it may stall, so that messages arrive long after the agent has opened another one.
 */
export class Stream {
  readonly #options: StreamOptions;
  readonly #up: Pipe;
  readonly #down: Pipe;
  #server: AgentStream | undefined = undefined;
  #agentIsThere = true;
  #serverIsThere = true;
  /** Messages that the agent has sent and the server has not acknowledged. */
  readonly #unacknowledged = new Map<number, readonly RunEvent[]>();
  #lastSeq = 0;
  #sentDown = 0;

  constructor(options: StreamOptions) {
    const { timeline, random } = options;
    this.#options = options;
    this.#up = new Pipe(timeline, random, options.bytesPerMs);
    this.#down = new Pipe(timeline, random, options.bytesPerMs);
  }

  get isOver(): boolean {
    return (!this.#agentIsThere && !this.#serverIsThere) || this.#up.isCut;
  }

  /** The connection is on its way; `accept` opens the server's end, or returns undefined: refused. */
  dial(accept: (peer: AgentPeer) => AgentStream | undefined): void {
    this.#up.send(() => {
      this.#server = accept(this.#peer());
      if (this.#server === undefined) this.break({ agentHears: true, serverHears: false });
    });
  }

  /** The agent's end. */
  link(): Link {
    return {
      send: (message) => this.#sendUp(clone(AgentMessageSchema, message)),
      close: () => {
        this.#agentIsThere = false;
        this.#up.send(() => this.#closeServer());
      },
    };
  }

  #sendUp(message: AgentMessage): void {
    const { seams, trace, node } = this.#options;
    if (!this.#agentIsThere) return;
    const { message: said } = message;
    if (said.case === "reports") {
      if (seams.endsGetLost) {
        said.value.events = said.value.events.filter(({ event }) => event.case !== "ended");
      }
      this.#unacknowledged.set(said.value.seq, said.value.events);
      this.#lastSeq = said.value.seq;
      trace.line(`${node} says ${describeEvents(said.value.events)} (${said.value.seq})`);
    } else if (said.case !== "heartbeat") trace.line(`${node} says ${said.case}`);
    const bytes = this.#up.isThin ? toBinary(AgentMessageSchema, message).length : 0;
    this.#up.send(() => this.#arriveUp(message), bytes);
  }

  #arriveUp(message: AgentMessage): void {
    if (!this.#serverIsThere) return;
    const { message: said } = message;
    if (this.#options.seams.acknowledgedByTheWay && said.case === "reports") {
      const ack = { case: "ack", value: { seq: said.value.seq } } as const;
      this.#peer().send(create(ServerMessageSchema, { message: ack }));
    }
    this.#server?.message(message);
  }

  /** Repeats an earlier message, of this stream or an older one: a late or doubled report. */
  replay(events: readonly RunEvent[]): void {
    if (this.#lastSeq === 0 || !this.#agentIsThere) return;
    this.#options.trace.line(`${this.#options.node} repeats ${describeEvents(events)}`);
    const value = { seq: this.#lastSeq, events: [...events] };
    const message = create(AgentMessageSchema, { message: { case: "reports", value } });
    this.#up.send(() => this.#arriveUp(message));
  }

  #peer(): AgentPeer {
    return {
      principal: LOCAL,
      address: `${this.#options.node}.simulated`,
      send: (message) => this.#sendDown(message),
      close: () => {
        this.#down.send(() => this.#closeAgent("the server ended the session"));
        this.#options.timeline.after(1, () => this.#closeServer());
      },
    };
  }

  #sendDown(original: ServerMessage): void {
    const { node, witness, trace, seams } = this.#options;
    if (!this.#serverIsThere) return;
    const message = clone(ServerMessageSchema, original);
    const { message: said } = message;
    witness.agentTold(node, said);
    if (said.case === "ack") this.#acknowledge(said.value.seq);
    if (said.case !== "heartbeat") trace.line(`server tells ${node} ${describeTold(said)}`);
    const isLost = seams.streamLosesMessages && ++this.#sentDown % 5 === 0;
    if (said.case === "work" && seams.stopsGetLost) {
      said.value = create(WorkSchema, { ...said.value, stops: [] });
    }
    const bytes = this.#down.isThin ? toBinary(ServerMessageSchema, message).length : 0;
    this.#down.send(() => {
      if (this.#agentIsThere && !isLost) this.#options.events.onMessage(message);
    }, bytes);
  }

  #acknowledge(seq: number): void {
    for (const [sent, events] of this.#unacknowledged) {
      if (sent > seq) continue;
      this.#unacknowledged.delete(sent);
      this.#options.witness.endsAcknowledged(this.#options.node, events);
    }
  }

  #closeServer(): void {
    if (!this.#serverIsThere) return;
    this.#serverIsThere = false;
    this.#server?.closed();
  }

  #closeAgent(reason: string): void {
    if (!this.#agentIsThere) return;
    this.#agentIsThere = false;
    this.#options.events.onClose(reason);
  }

  /** The connection is lost. An end that gets no event detects it by silence. */
  break(who: { readonly agentHears: boolean; readonly serverHears: boolean }): void {
    const { timeline, random, node, trace } = this.#options;
    if (this.#up.isCut) return;
    trace.line(`${node}: stream breaks, ${JSON.stringify(who)}`);
    this.#up.cut();
    this.#down.cut();
    const laterMs = random.int(1, 200);
    if (who.agentHears) timeline.after(laterMs, () => this.#closeAgent("connection reset"));
    if (who.serverHears) timeline.after(laterMs, () => this.#closeServer());
    else if (this.#server === undefined) this.#serverIsThere = false;
  }

  stall(ms: number, direction: "up" | "down" | "both"): void {
    this.#options.trace.line(`${this.#options.node}: stream stalls ${direction} for ${ms} ms`);
    if (direction !== "down") this.#up.stall(ms);
    if (direction !== "up") this.#down.stall(ms);
  }

  /** One end's process died: it receives nothing any more, and the other notices it or not. */
  agentDied(serverHears: boolean): void {
    this.#agentIsThere = false;
    this.break({ agentHears: false, serverHears });
  }

  /** A connection that has not arrived yet goes to the next process of the server. */
  serverDied(agentHears: boolean): void {
    if (this.#server === undefined) return;
    this.#serverIsThere = false;
    this.break({ agentHears, serverHears: false });
  }
}

const describeEvents = (events: readonly RunEvent[]): string =>
  events
    .map(({ id, event }) => `${id === undefined ? "?" : formatRun(toRun(id))} ${event.case}`)
    .join(", ");

function describeTold(said: ServerMessage["message"]): string {
  if (said.case === "ack") return `ack ${said.value.seq}`;
  if (said.case === "goodbye") return `goodbye: ${said.value.reason}`;
  if (said.case !== "work") return String(said.case);
  const starts = said.value.starts.map((run) => `start ${formatRun(toRun(run))}`);
  const stops = said.value.stops.map((run) => `stop ${formatRun(toRun(run))}`);
  const holds = said.value.holds.map(({ id }) => `hold ${id && formatRun(toRun(id))}`);
  const returns = said.value.returns.map((run) => `give back ${formatRun(toRun(run))}`);
  return [...starts, ...holds, ...stops, ...returns].join(", ");
}
