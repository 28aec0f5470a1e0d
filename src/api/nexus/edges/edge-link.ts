import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { SERVER } from "../../../core/access/principal.ts";
import {
  AgentMessageSchema,
  EndCause,
  RunIdSchema,
  type ServerMessage,
} from "../../../gen/busbar/v1/agent_pb.ts";
import type { AgentPeer } from "../../../server/sessions/agent-session.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";

/** One attempt at one share. */
export interface ShareRun {
  readonly job: number;
  readonly index: number;
  readonly attempt: number;
}

export interface EdgeLinkOptions {
  readonly sessions: AgentSessions;
  readonly node: string;
  readonly site: string;
  readonly agentKey: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly nowMs: () => number;
  /** It has ended: by itself, or because the server ended it. */
  readonly onClosed: (reason: string) => void;
}

type Said = NonNullable<MessageInitShape<typeof AgentMessageSchema>["message"]>;

const VERSION = "edge agent of nexus";

/** It checks its JobInfos once in a tick, begins one at the first and ends it at a later one. */
const powerOf = (watts: number) => ({
  watts,
  needsNoCommand: true,
  tickMs: limits.nexusEdgeTickMs,
});

/**
 * Connects one edge whose agent knows only the tree: for Busbar it is a node with power like others. The agent finds its work in JobInfos;
 * this class converts its writes to them into reports.
 */
export class EdgeLink {
  readonly #options: EdgeLinkOptions;
  readonly #stream: ReturnType<AgentSessions["open"]>;
  readonly #welcome = Promise.withResolvers<void>();
  #seq = 0;
  #isWelcomed = false;
  #isOver = false;
  #watts: number;

  /** `runs`: the runs that the agent began before this link. */
  constructor(options: EdgeLinkOptions, watts: number, runs: readonly ShareRun[]) {
    this.#options = options;
    this.#watts = watts;
    this.#welcome.promise.catch(() => undefined);
    const peer: AgentPeer = {
      principal: SERVER,
      address: undefined,
      send: (message) => queueMicrotask(() => this.#hear(message)),
      close: () => queueMicrotask(() => this.close("the server ended it")),
    };
    this.#stream = options.sessions.open(peer);
    const { node, site: cluster, agentKey, labels } = options;
    this.#say({
      case: "hello",
      value: {
        node,
        cluster,
        agentKey,
        labels,
        runs: runs.map((run) => create(RunIdSchema, run)),
        bootId: "edge",
        version: VERSION,
        power: powerOf(watts),
      },
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get watts(): number {
    return this.#watts;
  }

  /** Resolves when Busbar has the node. */
  get connected(): Promise<void> {
    return this.#welcome.promise;
  }

  #say(message: Said): void {
    if (!this.#isOver) this.#stream.message(create(AgentMessageSchema, { message }));
  }

  #hear({ message }: ServerMessage): void {
    if (this.#isOver) return;
    switch (message.case) {
      case "welcome":
        this.#isWelcomed = true;
        this.#welcome.resolve();
        return;
      case "goodbye":
        this.close(message.value.reason);
        return;
      case "work":
        // Starts are JobInfos by now. A stopped share disappears from the tree, and its agent continues.
        for (const id of [...message.value.stops, ...message.value.withdrawn]) this.#stopped(id);
        return;
      case "ack":
      case "output":
      case "attachment": // no edge has can_attach
      case "heartbeat":
      case "specPart":
      case "mark":
      case "markSeen":
      case undefined:
    }
  }

  #stopped(run: ShareRun): void {
    const nowMs = this.#options.nowMs();
    const value = { startedAtMs: 0, endedAtMs: nowMs, cause: EndCause.STOPPED };
    this.#report(run, { case: "ended", value });
  }

  #report(
    { job, index, attempt }: ShareRun,
    event:
      | { readonly case: "started"; readonly value: { readonly startedAtMs: number } }
      | {
          readonly case: "ended";
          readonly value: {
            readonly startedAtMs: number;
            readonly endedAtMs: number;
            readonly cause: EndCause;
          };
        },
  ): void {
    const events = [{ id: { job, index, attempt }, event }];
    this.#say({ case: "reports", value: { seq: ++this.#seq, events } });
  }

  started(run: ShareRun, startedAtMs: number): void {
    this.#report(run, { case: "started", value: { startedAtMs } });
  }

  progress({ job, index, attempt }: ShareRun, percent: number): void {
    const runs = [{ id: { job, index, attempt }, progress: { percent, message: "" } }];
    this.#say({ case: "progress", value: { runs } });
  }

  ended(run: ShareRun, startedAtMs: number, endedAtMs: number): void {
    const value = { startedAtMs, endedAtMs, cause: EndCause.EXITED, exitCode: 0 };
    this.#report(run, { case: "ended", value });
  }

  setPower(watts: number): void {
    if (watts === this.#watts) return;
    this.#watts = watts;
    this.#say({ case: "power", value: powerOf(watts) });
  }

  beat(): void {
    // Before Welcome the server accepts nothing from it.
    if (this.#isWelcomed) this.#say({ case: "heartbeat", value: {} });
  }

  close(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.closed();
    this.#welcome.reject(new AppError("unavailable", `the edge was disconnected: ${reason}`));
    this.#options.onClosed(reason);
  }
}
