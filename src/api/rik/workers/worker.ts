import { createHash } from "node:crypto";
import type { InstanceMetric, WorkerMetric } from "../../../gen/rik/v1/common_pb.ts";
import { ResourceStatus, WorkloadRequestKind } from "../../../gen/rik/v1/common_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { formatDuration } from "../../../lib/units.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";
import type { CallContext } from "../../grpc/calls/call-context.ts";
import type { FrameSink } from "../../grpc/calls/pushed-frames.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { statusText } from "../translate.ts";
import { orderFrame } from "../wire.ts";
import { AgentLink } from "./agent-link.ts";
import type { DestroyTimes } from "./destroy-orders.ts";
import { InstanceRuns } from "./instance-runs.ts";
import { capacityOf, isSameMachine, readMetrics, SampleHistory } from "./metrics.ts";
import { Orders } from "./orders.ts";

export interface WorkerTimes {
  /** How long a worker may be silent before the server gives it up. */
  readonly silenceMs: number;
  /** From the end of its stream until its instances are placed again. */
  readonly lostAfterMs: number;
  readonly destroy: DestroyTimes;
}

export interface WorkerParts {
  readonly sessions: AgentSessions;
  readonly times: WorkerTimes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The key of this worker's agent: the same at each registration. */
  readonly agentKey: string;
  /** Different at each registration: a worker that registers runs nothing. */
  readonly bootId: string;
  /** A value that controllers receive has changed. */
  readonly onChange: (worker: Worker) => void;
}

/** Nodes of workers are in the default cluster, as other nodes are. */
const CLUSTER = "default";
const PROGRAM = "rik worker";
const MUTE = `its worker has answered no order for ${formatDuration(limits.rikUnansweredMs)}`;
/** A worker may send thousands of statuses in a second; each is a sign of life, and recording few of them is enough. */
const BEAT_MS_MIN = 1_000;

/**
 * One worker of rik, from its registration to the end of its stream: a node of Busbar, whose agent it acts as. It accepts instances from
 * its first heartbeat on.
 */
export class Worker {
  readonly hostname: string;
  readonly node: string;
  /** Address and port. */
  readonly peer: string;
  readonly connection: object;
  /** The principal of its credential; undefined: none is required. */
  readonly owner: string | undefined;
  readonly history = new SampleHistory();
  readonly #parts: WorkerParts;
  readonly #sink: FrameSink;
  readonly #orders: Orders;
  readonly #runs: InstanceRuns;
  #link: AgentLink | undefined;
  #metrics = "null";
  #status: ResourceStatus = ResourceStatus.PENDING;
  #heardMs: number;
  /** When its node was last reported as alive. */
  #beatMs = 0;
  #cancelReopen: () => void = () => undefined;
  #isMute = false;
  #isOver = false;

  constructor(
    hostname: string,
    { context, owner }: { readonly context: CallContext; readonly owner: string | undefined },
    sink: FrameSink,
    parts: WorkerParts,
  ) {
    this.hostname = hostname;
    this.node = nodeNameOf(hostname);
    this.peer = plainPeer(context.peer);
    this.connection = context.connection;
    this.owner = owner;
    this.#parts = parts;
    this.#sink = sink;
    this.#heardMs = parts.clock.nowMs();
    this.#orders = new Orders(sink, (error) => this.end(error));
    const { clock, logger, times } = parts;
    this.#runs = new InstanceRuns({
      clock,
      destroyTimes: times.destroy,
      create: (id, definition) => this.#order(id, definition, WorkloadRequestKind.CREATE),
      destroy: (id, definition) => this.#order(id, definition, WorkloadRequestKind.DESTROY),
      report: (event) => this.#link?.report(event),
      onSilent: (instance) =>
        logger.warn(
          { worker: hostname, instance },
          "a worker did not acknowledge that it destroyed an instance, which counts as gone",
        ),
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get instances(): number {
    return this.#runs.count;
  }

  /** The port of the instance of this job, if it is a function. */
  portOf(job: number): number | undefined {
    return this.#runs.portOf(job);
  }

  get heardMs(): number {
    return this.#heardMs;
  }

  /** As controllers receive it. */
  get told(): { readonly status: ResourceStatus; readonly metrics: string } {
    return { status: this.#status, metrics: this.#metrics };
  }

  /** Why it counts as lost; undefined: it does not. */
  faultAt(nowMs: number): string | undefined {
    const { silenceMs } = this.#parts.times;
    if (this.#heardMs + silenceMs < nowMs) return `sent no heartbeat for ${silenceMs} ms`;
    if (this.#runs.unansweredMs(nowMs) < limits.rikMuteMs) return undefined;
    return `answered none of its orders for ${limits.rikMuteMs} ms`;
  }

  /** Its work may be stuck while its heartbeats go on: others get what it has not received. */
  look(nowMs: number): void {
    if (this.#runs.unansweredMs(nowMs) < limits.rikUnansweredMs) return;
    this.#isMute = true;
    this.#tellSickness();
    this.#runs.returnQueued(`${MUTE}, and has not received this instance`);
  }

  /** Time in which this process did not run does not count. */
  excuse(ms: number): void {
    this.#heardMs += ms;
    this.#runs.excuse(ms);
  }

  /** A heartbeat. */
  heardOfMachine({ status, metrics }: WorkerMetric): void {
    this.#heard();
    const nowMs = this.#parts.clock.nowMs();
    const before = this.history.latest;
    const sample = readMetrics(metrics, nowMs);
    if (sample !== undefined) this.history.add(sample);
    this.#metrics =
      metrics.length <= limits.rikMetricsCharsMax && metrics !== "" ? metrics : "null";
    this.#status = status;
    this.#parts.onChange(this);
    if (status === ResourceStatus.RUNNING && this.#link === undefined) return this.#open();
    this.#tellSickness();
    // The core learns the capacity of a node when it connects.
    if (sample !== undefined && !isSameMachine(before, sample)) this.#reopen();
  }

  /** The outcome of an instance; false: the worker has none of this id. */
  heardOfInstance({ instanceId, status }: InstanceMetric): boolean {
    this.#heard();
    const isKnown = this.#runs.heard(instanceId, status);
    if (isKnown && this.#isMute) {
      this.#isMute = false;
      this.#tellSickness();
    }
    return isKnown;
  }

  /** Ends its stream: the worker exits, and its supervisor starts it again. */
  end(error: AppError): void {
    if (this.#isOver) return;
    this.over();
    this.#sink.end(error);
  }

  /** Its stream has ended, for whatever reason. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#status = ResourceStatus.TERMINATED;
    this.#cancelReopen();
    this.#runs.close();
    this.#link?.close();
  }

  #heard(): void {
    this.#heardMs = this.#parts.clock.nowMs();
    if (this.#heardMs - this.#beatMs < BEAT_MS_MIN) return;
    this.#beatMs = this.#heardMs;
    this.#link?.beat();
  }

  #tellSickness(): void {
    const isReady = this.#status === ResourceStatus.RUNNING;
    const mute = this.#isMute ? MUTE : "";
    this.#link?.setSickness(isReady ? mute : `its worker says ${statusText(this.#status)}`);
  }

  #order(instanceId: string, definition: string, action: WorkloadRequestKind): void {
    if (!this.#isOver) this.#orders.push(orderFrame(instanceId, definition, action));
  }

  #reopen(): void {
    this.#link?.close();
    this.#open();
  }

  #open(): void {
    const { sessions, agentKey, bootId, times, logger, clock } = this.#parts;
    const link: AgentLink = new AgentLink({
      sessions,
      address: addressOf(this.peer),
      hello: {
        node: this.node,
        cluster: CLUSTER,
        agentKey,
        bootId,
        version: PROGRAM,
        capacity: capacityOf(this.history.latest),
        labels: { agent: "rik" },
        instancesOnly: true,
        runs: this.#runs.known.map((run) => ({ ...run })),
        lostAfterMs: times.lostAfterMs,
        heartbeatMs: Math.max(limits.heartbeatMsMin, Math.floor(times.silenceMs / 3)),
        silenceMs: 2 * times.silenceMs,
      },
      onWelcome: () => this.#runs.resumed(),
      onWork: (work) => this.#runs.work(work),
      onDurable: (events) => this.#runs.durable(events),
      onOver: (reason, isFinal) => {
        if (this.#link !== link || this.#isOver) return;
        logger.warn({ worker: this.hostname, node: this.node, reason }, "node of a worker lost");
        if (isFinal) return this.end(new AppError("permission_denied", reason));
        this.#cancelReopen = clock.after(limits.rikReopenMs, () => this.#open());
      },
    });
    this.#link = link;
  }
}

const MAPPED = /^::ffff:/i;

/** In a form that controllers can parse: they accept only literal addresses with a port. */
function plainPeer(peer: string): string {
  const host = (addressOf(peer) ?? "0.0.0.0").replace(MAPPED, "");
  const port = /:(\d+)$/.exec(peer)?.[1] ?? "0";
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Host names may contain anything; a changed one gets a part of its hash, so that it is unique. */
export function nodeNameOf(hostname: string): string {
  const plain = hostname.replaceAll(/[^A-Za-z0-9._-]+/g, "-").replaceAll(/^[-._]+|[-._]+$/g, "");
  const short = plain.slice(0, HOST_LENGTH_MAX).replace(/[-._]+$/, "");
  if (short === hostname) return `rik-${hostname}`;
  const hash = createHash("sha256").update(hostname).digest("hex").slice(0, 8);
  return short === "" ? `rik-${hash}` : `rik-${short}-${hash}`;
}

const HOST_LENGTH_MAX = 48;
