import type { ConnectLink } from "../../src/agent/link/link.ts";
import type { AgentMessage, RunEvent } from "../../src/gen/busbar/v1/agent_pb.ts";
import type { AgentPeer } from "../../src/server/sessions/agent-session.ts";
import type { AgentStream } from "../../src/server/sessions/agent-sessions.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import { Stream } from "./stream.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

const REMEMBERED_EVENTS = 60;
const THIN_BYTES_PER_MS = 8; // 64 kbit/s

/** Nodes at the edge, by their names: not drawn, so that other seeds stay the same. */
const isThin = (node: string): boolean => node.endsWith("2");

export interface NetworkOptions {
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly seams: Seams;
  /** Opens the server's end; undefined when no server listens. */
  readonly accept: (peer: AgentPeer) => AgentStream | undefined;
}

/** All streams between agents and the server, and their faults. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #streams = new Map<string, Stream[]>();
  readonly #cutOffUntilMs = new Map<string, number>();
  readonly #nextDialStallsMs = new Map<string, number>();
  /** When the node's last fault was over. */
  readonly #troubledAtMs = new Map<string, number>();
  /** All reports of each node: for repetitions. */
  readonly #said = new Map<string, RunEvent[]>();

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  connectFor(node: string): ConnectLink {
    return (events) => {
      const { timeline, random } = this.#options;
      const bytesPerMs = isThin(node) ? THIN_BYTES_PER_MS : Infinity;
      const stream = new Stream({ ...this.#options, node, events, bytesPerMs });
      this.#streams.set(node, [...this.streamsOf(node), stream]);
      const cutOffMs = (this.#cutOffUntilMs.get(node) ?? 0) - timeline.nowMs;
      const stallMs = Math.max(cutOffMs, this.#nextDialStallsMs.get(node) ?? 0);
      this.#nextDialStallsMs.delete(node);
      if (stallMs > 0) stream.stall(stallMs, "both");
      stream.dial(this.#options.accept);
      if (cutOffMs > 0 && random.chance(0.5)) stream.break({ agentHears: true, serverHears: true });
      const link = stream.link();
      return {
        send: (message) => {
          this.#remember(node, message);
          link.send(message);
        },
        close: () => link.close(),
      };
    };
  }

  #remember(node: string, { message }: AgentMessage): void {
    if (message.case !== "reports") return;
    const said = [...(this.#said.get(node) ?? []), ...message.value.events];
    this.#said.set(node, said.slice(-REMEMBERED_EVENTS));
  }

  streamsOf(node: string): Stream[] {
    return (this.#streams.get(node) ?? []).filter((stream) => !stream.isOver);
  }

  troubledAtMs(node: string): number {
    return this.#troubledAtMs.get(node) ?? 0;
  }

  #trouble(node: string, ms = 0): void {
    const overAtMs = this.#options.timeline.nowMs + ms;
    this.#troubledAtMs.set(node, Math.max(this.troubledAtMs(node), overAtMs));
  }

  /** Every stream of the node breaks; each end notices it, or not. */
  breakStreams(node: string): void {
    const { random } = this.#options;
    this.#trouble(node);
    for (const stream of this.streamsOf(node)) {
      stream.break({ agentHears: random.chance(0.6), serverHears: random.chance(0.6) });
    }
  }

  stall(node: string, ms: number): void {
    this.#trouble(node, ms);
    const direction = this.#options.random.pick(["up", "down", "both"] as const);
    for (const stream of this.streamsOf(node)) stream.stall(ms, direction);
  }

  /** Messages of the agent in its newest stream arrive later; older streams are not affected. */
  stallNewest(node: string, ms: number): void {
    this.#trouble(node, ms);
    this.streamsOf(node).at(-1)?.stall(ms, "up");
  }

  /** Nothing passes for a while: messages arrive afterwards, if their stream lives so long. */
  cutOff(node: string, ms: number): void {
    this.#trouble(node, ms);
    this.#cutOffUntilMs.set(node, this.#options.timeline.nowMs + ms);
    for (const stream of this.streamsOf(node)) stream.stall(ms, "both");
  }

  /** The agent gives this connection up and connects again; then the old Hello arrives after the new one. */
  delayNextDial(node: string, ms: number): void {
    this.#trouble(node, ms);
    this.#nextDialStallsMs.set(node, ms);
    this.breakStreams(node);
  }

  /** Old and doubled reports, as a faulty agent might send them. */
  repeatReports(node: string): void {
    const { random } = this.#options;
    const said = this.#said.get(node) ?? [];
    const stream = this.streamsOf(node).at(-1);
    if (said.length === 0 || stream === undefined) return;
    stream.replay(Array.from({ length: random.int(1, 4) }, () => random.pick(said)));
  }

  agentDied(node: string): void {
    this.#trouble(node);
    for (const stream of this.streamsOf(node)) stream.agentDied(this.#options.random.chance(0.7));
  }

  serverDied(): void {
    for (const node of this.#streams.keys()) {
      this.#trouble(node);
      for (const stream of this.streamsOf(node)) {
        stream.serverDied(this.#options.random.chance(0.7));
      }
    }
  }
}
