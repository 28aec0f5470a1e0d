import { createHmac } from "node:crypto";
import type { WorkerMetric, WorkerStatus } from "../../../gen/rik/v1/common_pb.ts";
import { isPrintable } from "../../../core/model/texts.ts";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Random } from "../../../ports/random.ts";
import type { AgentSessions } from "../../../server/sessions/agent-sessions.ts";
import type { CallContext } from "../../grpc/calls/call-context.ts";
import type { FrameSink, FrameSource } from "../../grpc/calls/pushed-frames.ts";
import { answersPing } from "../../grpc/ping.ts";
import { alreadyThere, noHostName } from "../status.ts";
import { RefusalLog } from "./refusal-log.ts";
import { Worker, type WorkerTimes } from "./worker.ts";

export interface RikWorkersOptions {
  readonly sessions: AgentSessions;
  /** The id of this server, stored with its data: it recognizes nodes by it. */
  readonly secret: string;
  readonly times: WorkerTimes;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

type Arriving = { readonly context: CallContext; readonly owner: string | undefined };

/** A worker that waits for the answer of another one that has its host name, or was refused because of it. */
interface Waiting {
  readonly hostname: string;
  /** Its latest heartbeat: the next one comes in 15 s. */
  beat?: WorkerMetric;
}

const BOOT_BYTES = 12;

/** All registered workers of rik, by their host names. */
export class RikWorkers {
  readonly #options: RikWorkersOptions;
  readonly refusals: RefusalLog;
  readonly #byHost = new Map<string, Worker>();
  readonly #byNode = new Map<string, Worker>();
  readonly #byConnection = new WeakMap<object, Worker>();
  readonly #waiting = new WeakMap<object, Waiting>();
  readonly #listeners = new Set<(worker: Worker) => void>();
  #cancelLook: () => void;

  constructor(options: RikWorkersOptions) {
    this.#options = options;
    this.refusals = new RefusalLog(options);
    this.#cancelLook = this.#lookLater();
  }

  get all(): IterableIterator<Worker> {
    return this.#byHost.values();
  }

  get count(): number {
    return this.#byHost.size;
  }

  /** The worker whose node has this name. */
  at(node: string): Worker | undefined {
    return this.#byNode.get(node);
  }

  /** Calls when a worker registers, reports its state, or leaves. */
  onChange(hear: (worker: Worker) => void): void {
    this.#listeners.add(hear);
  }

  register(hostname: string, arriving: Arriving, sink: FrameSink): FrameSource {
    if (hostname === "") throw noHostName();
    if (hostname.length > limits.rikHostNameLengthMax || !isPrintable(hostname)) {
      const { rikHostNameLengthMax: max } = limits;
      throw invalid("hostname", `at most ${max} characters, and no controls`);
    }
    const known = this.#byHost.get(hostname);
    if (known === undefined && this.#byHost.size >= limits.agentSessionsMax) {
      throw new AppError("exhausted", "too many workers are connected");
    }
    sink.begin(); // a worker does nothing before it has these
    let worker: Worker | undefined;
    let isClosed = false;
    const admit = (): void => {
      if (!isClosed) worker = this.#admit(hostname, arriving, sink);
    };
    if (known === undefined) admit();
    else {
      const { connection } = arriving.context;
      const waiting: Waiting = { hostname };
      this.#waiting.set(connection, waiting);
      void this.#evict(known).then((isFree) => {
        if (!isFree) {
          const error = alreadyThere();
          this.refusals.refused(hostname, arriving.context.peer, error);
          return sink.end(error);
        }
        admit();
        if (waiting.beat !== undefined) worker?.heardOfMachine(waiting.beat);
      });
    }
    return {
      close: () => {
        isClosed = true;
        if (worker !== undefined) this.#left(worker, "its stream has ended");
      },
      end: (error) => (worker === undefined ? sink.end(error) : worker.end(error)),
      beat: () => undefined,
    };
  }

  /** The reports of a worker. Reports about unknown instances are ignored: nothing can be done about them. */
  heard({ identifier, status }: WorkerStatus, { context, owner }: Arriving): void {
    const { connection } = context;
    const named = this.#byHost.get(identifier);
    const waiting = this.#waiting.get(connection);
    if (waiting?.hostname === identifier && named?.connection !== connection) {
      if (status.case === "worker") waiting.beat = status.value;
      return; // it has no instances yet, and its heartbeat is not that of the other one
    }
    const worker = this.#senderOf(identifier, connection, named);
    if (worker === undefined || worker.isOver || worker.owner !== owner) {
      this.#options.logger.debug({ worker: identifier }, "a status of an unknown worker");
      return;
    }
    switch (status.case) {
      case "worker":
        return worker.heardOfMachine(status.value);
      case "instance":
        if (!worker.heardOfInstance(status.value)) {
          const { instanceId: instance } = status.value;
          this.#options.logger.debug({ worker: identifier, instance }, "an unknown instance");
        }
        return;
      case undefined:
    }
  }

  close(): void {
    this.#cancelLook();
  }

  /** `named`: the worker that has the name, which may be another one than that of the connection. */
  #senderOf(identifier: string, connection: object, named: Worker | undefined): Worker | undefined {
    const own = this.#byConnection.get(connection);
    // One that was given up and wakes up still executes its last orders: they do not count for the next of its name.
    const isEarlier = own?.hostname === identifier && named?.connection !== connection;
    return isEarlier ? own : (named ?? own);
  }

  /** Whether the name is free now: a worker that vanished silently may reconnect before that is noticed. */
  async #evict(known: Worker): Promise<boolean> {
    if (await answersPing(known.connection, limits.rikThereMsMax)) return known.isOver;
    known.end(new AppError("unavailable", "another worker has this host name now"));
    this.#left(known, "it did not answer, and another one has its host name");
    return true;
  }

  #admit(hostname: string, arriving: Arriving, sink: FrameSink): Worker | undefined {
    if (this.#byHost.has(hostname)) {
      sink.end(alreadyThere()); // of several at once the first was faster
      return undefined;
    }
    const { sessions, secret, times, clock, random, logger } = this.#options;
    const worker = new Worker(hostname, arriving, sink, {
      sessions,
      times,
      clock,
      logger,
      agentKey: createHmac("sha256", secret).update(hostname).digest("hex"),
      bootId: random.token(BOOT_BYTES),
      onChange: (changed) => this.#tell(changed),
    });
    this.#byHost.set(hostname, worker);
    this.#byNode.set(worker.node, worker);
    this.#byConnection.set(worker.connection, worker);
    this.#waiting.delete(worker.connection);
    logger.info({ worker: hostname, node: worker.node, address: worker.peer }, "worker registered");
    this.#tell(worker);
    return worker;
  }

  #left(worker: Worker, reason: string): void {
    worker.over();
    if (this.#byHost.get(worker.hostname) !== worker) return;
    this.#byHost.delete(worker.hostname);
    this.#byNode.delete(worker.node);
    const { instances } = worker;
    this.#options.logger.info({ worker: worker.hostname, instances, reason }, "worker is gone");
    this.#tell(worker);
  }

  #tell(worker: Worker): void {
    for (const hear of this.#listeners) hear(worker);
  }

  #lookLater(): () => void {
    const { clock, times } = this.#options;
    const lookMs = Math.min(limits.rikLookMs, times.silenceMs / 3);
    const dueMs = clock.nowMs() + lookMs;
    return clock.after(lookMs, () => {
      const nowMs = clock.nowMs();
      for (const worker of this.#byHost.values()) {
        worker.excuse(Math.max(0, nowMs - dueMs));
        worker.look(nowMs);
        const fault = worker.faultAt(nowMs);
        if (fault === undefined) continue;
        const text = `worker ${worker.hostname} ${fault}`;
        worker.end(new AppError("unavailable", text));
        this.#left(worker, text);
      }
      this.#cancelLook = this.#lookLater();
    });
  }
}
