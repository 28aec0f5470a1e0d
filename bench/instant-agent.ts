import { createGrpcConnect } from "../src/agent/link/grpc-link.ts";
import type { Link } from "../src/agent/link/link.ts";
import { Liveness } from "../src/agent/session/liveness.ts";
import { toAgentMessage } from "../src/agent/translate.ts";
import type { RunId, ServerMessage } from "../src/gen/busbar/v1/agent_pb.ts";
import { EndCause } from "../src/gen/busbar/v1/agent_pb.ts";
import { limits } from "../src/limits.ts";
import { createSystemClock } from "../src/system/clock.ts";

const clock = createSystemClock();
const USAGE = { cpuUs: 812, wallUs: 1_034, maxRssKib: 1_880, majorFaults: 0 }; // of /bin/true

/** The order of the bench to this process, as JSON in its first argument. */
export interface InstantAgentOptions {
  readonly server: string;
  /** The prefix of its nodes' names; a number follows. */
  readonly name?: string;
  /** Nodes, each with its own connection. */
  readonly sessions: number;
  readonly cpus: number;
  /** Ends when so many tasks are done and acknowledged; absent: on a signal. */
  readonly tasks?: number;
}

/**
 * An agent on the real wire whose tasks take no time: it answers each start with its end. It answers all starts of one turn in one message,
 * and has no more messages on their way than a real agent would.
 */
class InstantAgent {
  readonly #link: Link;
  readonly #liveness: Liveness;
  readonly #onWelcome: () => void;
  readonly #onAcknowledged: (runs: number) => void;
  #runs: RunId[] = [];
  #isDue = false;
  /** The runs of each message that is on its way, from the oldest. */
  #inFlight: number[] = [];
  #sent = 0;
  #acknowledged = 0;

  constructor(
    { server, cpus }: InstantAgentOptions,
    name: string,
    on: { readonly welcome: () => void; readonly acknowledged: (runs: number) => void },
  ) {
    this.#onWelcome = on.welcome;
    this.#onAcknowledged = on.acknowledged;
    this.#link = createGrpcConnect(server)({
      onMessage: (message) => this.#receive(message),
      onClose: (reason) => fail(`${name}: ${reason}`),
    });
    const capacity = { cpu: cpus * 1_000 };
    const hello = {
      node: name,
      cluster: "bench",
      agentKey: `key-of-the-agent-${name}`,
      bootId: "boot",
      parts: {},
    };
    this.#link.send(toAgentMessage({ case: "hello", value: { ...hello, capacity } }));
    this.#liveness = new Liveness(clock, {
      beat: () => {
        this.#liveness.sent();
        this.#link.send(toAgentMessage({ case: "heartbeat", value: {} }));
      },
      silent: () => fail(`${name}: the server is silent`),
    });
  }

  close(): void {
    this.#link.close();
  }

  #receive({ message }: ServerMessage): void {
    this.#liveness.heard();
    if (message.case === "welcome") {
      this.#liveness.setInterval(message.value.heartbeatIntervalMs);
      this.#onWelcome();
    } else if (message.case === "heartbeat") this.#liveness.setInterval(message.value.intervalMs);
    else if (message.case === "goodbye") fail(message.value.reason);
    else if (message.case === "mark") {
      const { number } = message.value;
      this.#link.send(toAgentMessage({ case: "markSeen", value: { number } }));
    } else if (message.case === "work") this.#runs.push(...message.value.starts);
    else if (message.case === "ack") this.#acknowledge(message.value.seq);
    if (this.#runs.length === 0 || this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.#report());
  }

  #report(): void {
    this.#isDue = false;
    while (this.#runs.length > 0 && this.#inFlight.length < limits.unacknowledgedReportsMax) {
      const runs = this.#runs.splice(0, limits.reportEventsPerMessageMax);
      const nowMs = Date.now();
      const ended = { startedAtMs: nowMs, endedAtMs: nowMs, cause: EndCause.EXITED, exitCode: 0 };
      const value = { ...ended, usage: USAGE };
      const events = runs.map((id) => ({ id, event: { case: "ended", value } }) as const);
      this.#inFlight.push(runs.length);
      this.#sent += 1;
      this.#link.send(toAgentMessage({ case: "reports", value: { seq: this.#sent, events } }));
    }
  }

  #acknowledge(seq: number): void {
    const done = this.#inFlight.splice(0, seq - this.#acknowledged);
    this.#acknowledged = seq;
    this.#onAcknowledged(done.reduce((sum, runs) => sum + runs, 0));
  }
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

const options = JSON.parse(process.argv[2] ?? "") as InstantAgentOptions;
let welcomed = 0;
let done = 0;
let beginMs = 0;

function welcome(): void {
  welcomed += 1;
  beginMs = performance.now();
  if (welcomed === options.sessions) process.stdout.write("connected\n");
}

function acknowledged(runs: number): void {
  if (done >= (options.tasks ?? Number.POSITIVE_INFINITY)) return; // it is leaving
  done += runs;
  if (options.tasks === undefined || done < options.tasks) return;
  const seconds = (performance.now() - beginMs) / 1_000;
  process.stdout.write(`worked ${JSON.stringify({ tasks: done, seconds })}\n`);
}

const agents = Array.from(
  { length: options.sessions },
  (_, at) =>
    new InstantAgent(options, `${options.name ?? "instant"}-${at}`, { welcome, acknowledged }),
);
process.once("SIGTERM", () => {
  for (const agent of agents) agent.close();
  process.exit(0); // orderly, so that a profile is written
});
