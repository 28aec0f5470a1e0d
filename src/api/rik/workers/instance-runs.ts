import { create } from "@bufbuild/protobuf";
import { readWorkload } from "../../../core/model/job/workload/workload.ts";
import {
  EndCause,
  EndedSchema,
  type RunEvent,
  RunEventSchema,
  type RunId,
  RunIdSchema,
  StartedSchema,
  type Work,
} from "../../../gen/busbar/v1/agent_pb.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { message } from "../../grpc/calls/wire-message.ts";
import { portUsed, toOrder } from "../definition.ts";

/** When an order to destroy an instance is repeated, and how often. */
export interface DestroyTimes {
  readonly retryMs: number;
  readonly triesMax: number;
}

export interface InstanceRunsOptions {
  readonly clock: Clock;
  readonly destroyTimes: DestroyTimes;
  readonly create: (instanceId: string, definition: string) => void;
  readonly destroy: (instanceId: string, definition: string) => void;
  readonly report: (event: RunEvent) => void;
  /** A worker that was asked often enough to destroy an instance has not answered. */
  readonly onSilent: (instanceId: string) => void;
}

type Run = Pick<RunId, "job" | "index" | "attempt">;

interface InstanceRun {
  readonly id: Run;
  readonly key: string;
  /** The worker's name for it. */
  readonly instanceId: string;
  readonly definition: string;
  readonly port: number | undefined;
  /** queued: not sent yet. */
  state: "queued" | "sent" | "running" | "stopping";
  startedAtMs: number;
  tries: number;
  cancelTimer: () => void;
}

/**
 * The instances of one worker, from order to end.
 *
 *   queued --room--> sent --RUNNING--> running
 *     |               |  +--FAILED--> ended        |
 *     +--stop--> ended+--stop--> stopping <--stop--+   stopping --TERMINATED, silence--> ended
 *
 * A worker executes its orders one by one, so that few are under way and the rest wait here. It does not answer for an instance that it
 * does not know: this class repeats an order to destroy some times, and then the instance counts as gone.
 */
export class InstanceRuns {
  readonly #options: InstanceRunsOptions;
  readonly #runs = new Map<string, InstanceRun>();
  readonly #byInstance = new Map<string, InstanceRun>();
  readonly #specs = new Map<number, { readonly name: string; readonly workload: string }>();
  readonly #queue = new Map<string, InstanceRun>();
  readonly #ports = new Set<number>();
  /** Ends that are not durable yet. */
  readonly #ended = new Map<string, RunEvent>();
  #underWay = 0;

  constructor(options: InstanceRunsOptions) {
    this.#options = options;
  }

  /** All runs of this worker, including ended ones whose ends are not durable yet. */
  get known(): readonly Run[] {
    const ended = [...this.#ended.values()].flatMap(({ id }) => (id === undefined ? [] : [id]));
    return [...[...this.#runs.values()].map(({ id }) => id), ...ended];
  }

  get count(): number {
    return this.#runs.size;
  }

  work({ specs, starts, stops, withdrawn }: Work): void {
    for (const { job, jobName: name, workload } of specs) this.#specs.set(job, { name, workload });
    for (const id of starts) this.#start(id);
    for (const id of stops) this.#stop(id);
    for (const id of withdrawn) this.#end(id, { cause: EndCause.STOPPED });
    this.#sendQueued();
  }

  /** A new session of the node: sends reports again that the last one may not have received. */
  resumed(): void {
    for (const run of this.#runs.values()) {
      if (run.startedAtMs > 0) this.#tellStarted(run);
    }
    for (const event of this.#ended.values()) this.#options.report(event);
  }

  durable(events: readonly RunEvent[]): void {
    for (const { id, event } of events) {
      if (event?.case === "ended" && id !== undefined) this.#ended.delete(keyOf(id));
    }
  }

  /** The worker's report about an instance; false: it has no such instance. */
  heard(instanceId: string, status: ResourceStatus): boolean {
    const run = this.#byInstance.get(instanceId);
    if (run === undefined || run.state === "queued") return false;
    switch (status) {
      case ResourceStatus.RUNNING:
        this.#running(run);
        break;
      case ResourceStatus.FAILED:
        this.#failed(run);
        break;
      case ResourceStatus.TERMINATED:
        this.#terminated(run);
        break;
      case ResourceStatus.UNKNOWN:
      case ResourceStatus.PENDING:
      case ResourceStatus.CREATING:
      case ResourceStatus.DESTROYING:
    }
    this.#sendQueued();
    return true;
  }

  close(): void {
    for (const run of this.#runs.values()) run.cancelTimer();
  }

  #start(id: Run): void {
    const key = keyOf(id);
    const spec = this.#specs.get(id.job);
    if (this.#runs.has(key) || spec === undefined) return;
    const taken = this.#byInstance.has(spec.name);
    try {
      if (spec.workload === "") throw new Error("a worker of rik runs instances of workloads only");
      const port = portUsed(readWorkload(spec.workload), id.job);
      if (port !== undefined && this.#ports.has(port)) {
        throw new Error(`port ${port} is used by another instance on this worker`);
      }
      const run: InstanceRun = {
        id: { job: id.job, index: id.index, attempt: id.attempt },
        key,
        // Two controllers may use the same name.
        instanceId: taken ? `${spec.name}.${id.job}` : spec.name,
        definition: toOrder(spec.workload, id.job),
        port,
        state: "queued",
        startedAtMs: 0,
        tries: 0,
        cancelTimer: nothing,
      };
      if (port !== undefined) this.#ports.add(port);
      this.#runs.set(key, run);
      this.#byInstance.set(run.instanceId, run);
      this.#queue.set(key, run);
    } catch (error) {
      this.#end(id, { cause: EndCause.COULD_NOT_START, message: describeChain(error) });
    }
  }

  #sendQueued(): void {
    for (const [key, run] of this.#queue) {
      if (this.#underWay >= limits.rikCreatesUnderWayMax) return;
      this.#queue.delete(key);
      this.#underWay += 1;
      run.state = "sent";
      this.#options.create(run.instanceId, run.definition);
    }
  }

  /** The worker has executed its order. */
  #answered(run: InstanceRun): void {
    if (run.state === "sent") this.#underWay -= 1;
  }

  #running(run: InstanceRun): void {
    if (run.startedAtMs > 0) return;
    run.startedAtMs = this.#options.clock.nowMs();
    this.#answered(run);
    if (run.state === "sent") run.state = "running";
    this.#tellStarted(run);
  }

  #tellStarted({ id, startedAtMs }: InstanceRun): void {
    const value = message(StartedSchema, { startedAtMs });
    this.#options.report(eventOf(id, { case: "started", value }));
  }

  #failed(run: InstanceRun): void {
    if (run.state === "stopping") return this.#gone(run, { cause: EndCause.STOPPED });
    if (run.startedAtMs > 0) return this.#gone(run, { cause: EndCause.EXITED, exitCode: 1 });
    const message = "its worker could not, and gave no reason; see the log of the worker";
    this.#gone(run, { cause: EndCause.COULD_NOT_START, message });
  }

  #terminated(run: InstanceRun): void {
    if (run.state === "stopping") return this.#gone(run, { cause: EndCause.STOPPED });
    this.#gone(run, {
      cause: EndCause.VANISHED,
      message: "its worker ended it without being asked",
    });
  }

  #stop(id: Run): void {
    const run = this.#runs.get(keyOf(id));
    if (run === undefined) {
      if (!this.#ended.has(keyOf(id))) this.#end(id, { cause: EndCause.STOPPED });
      return;
    }
    if (run.state === "stopping") return;
    if (run.state === "queued") return this.#gone(run, { cause: EndCause.STOPPED });
    this.#answered(run);
    run.state = "stopping";
    this.#destroy(run);
  }

  #destroy(run: InstanceRun): void {
    const { clock, destroyTimes, destroy, onSilent } = this.#options;
    run.tries += 1;
    destroy(run.instanceId, run.definition);
    run.cancelTimer = clock.after(destroyTimes.retryMs * 2 ** (run.tries - 1), () => {
      if (run.tries < destroyTimes.triesMax) return this.#destroy(run);
      onSilent(run.instanceId);
      this.#gone(run, { cause: EndCause.STOPPED });
      this.#sendQueued();
    });
  }

  #gone(run: InstanceRun, end: Ended): void {
    run.cancelTimer();
    this.#answered(run);
    this.#runs.delete(run.key);
    this.#queue.delete(run.key);
    if (this.#byInstance.get(run.instanceId) === run) this.#byInstance.delete(run.instanceId);
    if (run.port !== undefined) this.#ports.delete(run.port);
    this.#end(run.id, { startedAtMs: run.startedAtMs, ...end });
  }

  #end(id: Run, end: Ended): void {
    const value = create(EndedSchema, { endedAtMs: this.#options.clock.nowMs(), ...end });
    const event = eventOf(id, { case: "ended", value });
    this.#specs.delete(id.job); // an instance is the only task of its job
    this.#ended.set(keyOf(id), event);
    this.#options.report(event);
  }
}

interface Ended {
  readonly cause: EndCause;
  readonly message?: string;
  readonly exitCode?: number;
  readonly startedAtMs?: number;
}

const eventOf = ({ job, index, attempt }: Run, event: RunEvent["event"]): RunEvent =>
  message(RunEventSchema, { id: message(RunIdSchema, { job, index, attempt }), event });

const nothing = (): void => undefined;

const keyOf = ({ job, index, attempt }: Run): string => `${job}.${index}.${attempt}`;
