import { create } from "@bufbuild/protobuf";

import type {
  AgentMessage,
  AgentPower,
  Clock,
  Facts,
  Health,
  Heartbeat,
  Hello,
  OutputChunk,
  ProgressReports,
  Reports,
  ServerMessage,
  Take,
} from "../../gen/busbar/v1/agent_pb.ts";
import { ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import type { ConnectLink, LinkEvents } from "../link/link.ts";

type Init = NonNullable<
  NonNullable<Parameters<typeof create<typeof ServerMessageSchema>>[1]>["message"]
>;

interface MessageByCase {
  readonly hello: Hello;
  readonly reports: Reports;
  readonly output: OutputChunk;
  readonly heartbeat: Heartbeat;
  readonly facts: Facts;
  readonly take: Take;
  readonly health: Health;
  readonly clock: Clock;
  readonly progress: ProgressReports;
  readonly power: AgentPower;
}

/** One link, seen from the server's end. */
export class FakeLink {
  readonly received: AgentMessage["message"][] = [];
  isClosed = false;
  /** Counted by the transport. */
  bytesSent = 0;
  readonly #events: LinkEvents;

  constructor(events: LinkEvents) {
    this.#events = events;
  }

  send(message: Init): void {
    this.deliver(create(ServerMessageSchema, { message }));
  }

  deliver(message: ServerMessage): void {
    if (!this.isClosed) this.#events.onMessage(message);
  }

  welcome(wantsHealth = true, wantsProgress = wantsHealth): void {
    const wants = { wantsHealth, wantsProgress, wantsPower: wantsProgress };
    const value = { heartbeatIntervalMs: 5_000, serverTimeMs: 0, ...wants };
    this.send({ case: "welcome", value });
  }

  drop(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#events.onClose("connection reset");
  }

  /** The messages of one kind, oldest first. */
  all<Case extends keyof MessageByCase>(kind: Case): MessageByCase[Case][] {
    const found = this.received.filter((message) => message.case === kind);
    return found.map((message) => message.value as MessageByCase[Case]);
  }

  /** Events reported so far, as "1.0.1 started" or "1.0.1 ended". */
  events(): string[] {
    return this.all("reports").flatMap(({ events }) =>
      events.map(({ id, event }) => `${id?.job}.${id?.index}.${id?.attempt} ${event.case}`),
    );
  }
}

/** Accepts every connection, in order. */
export class FakeServer {
  readonly links: FakeLink[] = [];

  readonly connect: ConnectLink = (events) => {
    const link = new FakeLink(events);
    this.links.push(link);
    return {
      send: (message) => {
        if (!link.isClosed) link.received.push(message.message);
      },
      close: () => {
        link.isClosed = true;
      },
      bytesReceived: () => link.bytesSent,
    };
  };

  get last(): FakeLink {
    const link = this.links.at(-1);
    if (link === undefined) throw new Error("nobody dialled");
    return link;
  }
}
