import { create } from "@bufbuild/protobuf";
import { LOCAL } from "../core/access/principal.ts";
import type { OutputRequest, RunId, ServerMessage } from "../gen/busbar/v1/agent_pb.ts";
import { AgentMessageSchema, EndCause, RunEventSchema } from "../gen/busbar/v1/agent_pb.ts";
import type { AgentStream } from "../server/sessions/agent-sessions.ts";
import type { ControlPlane } from "../server/control-plane.ts";
import { eventually } from "./eventually.ts";

export type Said = NonNullable<Parameters<typeof create<typeof AgentMessageSchema>>[1]>["message"];

type RunEventInit = NonNullable<
  NonNullable<Parameters<typeof create<typeof RunEventSchema>>[1]>["event"]
>;
type Run = readonly [job: number, index: number, attempt: number];

/** An agent's end of the stream: records the messages it receives, and sends its own. */
export class FakeAgent {
  readonly heard: ServerMessage["message"][] = [];
  isClosed = false;
  /** Counted by the transport; messages of this agent add nothing. */
  bytesSent = 0;
  onWork: ((starts: RunId[]) => void) | undefined = undefined;
  onOutput: ((request: OutputRequest) => void) | undefined = undefined;
  readonly #stream: AgentStream;

  constructor(plane: ControlPlane, address?: string) {
    this.#stream = plane.sessions.open({
      principal: LOCAL,
      address,
      bytesReceived: () => this.bytesSent,
      send: ({ message }) => {
        this.heard.push(message);
        if (message.case === "work" && message.value.starts.length > 0) {
          this.onWork?.(message.value.starts);
        }
        if (message.case === "output") this.onOutput?.(message.value);
      },
      close: () => {
        this.isClosed = true;
        queueMicrotask(() => this.#stream.closed());
      },
    });
  }

  say(message: NonNullable<Said>): void {
    this.#stream.message(create(AgentMessageSchema, { message }));
  }

  hello(node: string, more: Record<string, unknown> = {}): void {
    const agentKey = `key-of-${node}`.padEnd(32, "x");
    this.say({
      case: "hello",
      value: { node, agentKey, bootId: "b", capacity: { cpu: 4_000 }, ...more },
    });
  }

  /** Reports the end of a run, in a batch of its own. */
  ended(seq: number, run: Run, value: Record<string, unknown>): void {
    const event = { case: "ended" as const, value };
    this.#report(seq, run, event);
  }

  started(seq: number, run: Run, startedAtMs: number): void {
    this.#report(seq, run, { case: "started" as const, value: { startedAtMs } });
  }

  #report(seq: number, run: Run, event: RunEventInit): void {
    const [job, index, attempt] = run;
    const events = [create(RunEventSchema, { id: { job, index, attempt }, event })];
    this.say({ case: "reports", value: { seq, events } });
  }

  hangUp(): void {
    this.#stream.closed();
  }

  /** Every start, stop and so on, as short texts. */
  get told(): string[] {
    return this.heard.flatMap((message) => {
      if (message.case !== "work") return [message.case ?? "nothing"];
      const { specs, starts, stops } = message.value;
      return [
        ...specs.map(({ job }) => `spec ${job}`),
        ...starts.map(({ job, index, attempt }) => `start ${job}.${index}#${attempt}`),
        ...stops.map(({ job, index, attempt }) => `stop ${job}.${index}#${attempt}`),
      ];
    });
  }

  /** Waits until the agent has received this message: "welcome", "start 1.0#1". */
  async hears(what: string): Promise<void> {
    await eventually(() => this.told.includes(what), { what: `the agent hears ${what}` });
  }

  get goodbye(): string {
    const last = this.heard.findLast((message) => message.case === "goodbye");
    return last?.case === "goodbye" ? `${last.value.reason} (retry ${last.value.retry})` : "";
  }
}

/** An agent that ends every assigned run with this exit code. */
export async function anObedientAgent(plane: ControlPlane, exitCode = 0): Promise<FakeAgent> {
  const agent = new FakeAgent(plane);
  let seq = 0;
  agent.onWork = (starts) => {
    // A time from a clock that is far behind.
    const value = { startedAtMs: 5, endedAtMs: 6, cause: EndCause.EXITED, exitCode };
    const events = starts.map((id) => ({ id, event: { case: "ended" as const, value } }));
    agent.say({ case: "reports", value: { seq: ++seq, events } });
  };
  agent.hello("w1", { capacity: { cpu: 4_000, memory: 2 ** 33 } });
  await agent.hears("welcome");
  return agent;
}
