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
import { portFor, toOrder } from "../definition.ts";
import { DestroyOrders, type DestroyTimes } from "./destroy-orders.ts";

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
  readonly key: RunKey;
  /** The worker's name for it. */
  readonly instanceId: string;
  readonly definition: string;
  readonly port: number | undefined;
  /** queued: not sent yet. */
  state: "queued" | "sent" | "running" | "stopping";
  startedAtMs: number;
}

interface InstanceSpec {
  readonly name: string;
  readonly workload: string;
  /** The number of its runs whose ends are not durable: so long the server does not send the spec again. */
  runs: number;
}

/**
 * The instances of one worker, from order to end.
 *
 *   queued --room--> sent --RUNNING--> running --FAILED, TERMINATED--> ended
 *     |               |  +--FAILED--> ended        |
 *     +--the worker answers nothing--> ended, and queued elsewhere
 *     +--stop--> ended+--stop--> stopping <--stop--+   stopping --TERMINATED, silence--> ended
 *
 * A worker executes its orders one by one, so that few are under way and the rest wait here. It does not answer for an instance that it
 * does not know: DestroyOrders repeats an order to destroy some times, and then the instance counts as gone.
 */
export class InstanceRuns {
  readonly #options: InstanceRunsOptions;
  readonly #runs = new Map<RunKey, InstanceRun>();
  readonly #byInstance = new Map<string, InstanceRun>();
  readonly #specs = new Map<number, InstanceSpec>();
  readonly #queue = new Map<RunKey, InstanceRun>();
  readonly #ports = new Set<number>();
  /** Of jobs with one task: others have no instance of their own in rik's API. */
  readonly #portOfJob = new Map<number, number>();
  readonly #destroyOrders: DestroyOrders<InstanceRun>;
  /** Names of instances that count as gone without an answer: it may come when another one has the name. */
  readonly #givenUp = new Set<string>();
  /** Ends that are not durable yet. */
  readonly #ended = new Map<RunKey, RunEvent>();
  #underWay = 0;
  /** Since when the worker has answered none of its orders. */
  #unansweredSinceMs = 0;

  constructor(options: InstanceRunsOptions) {
    this.#options = options;
    const { clock, destroyTimes: times, destroy, onSilent } = options;
    this.#destroyOrders = new DestroyOrders({
      clock,
      times,
      send: ({ instanceId, definition }) => destroy(instanceId, definition),
      giveUp: (run) => {
        onSilent(run.instanceId);
        this.#noteGivenUp(run.instanceId);
        this.#gone(run, { cause: EndCause.STOPPED });
        this.#sendQueued();
      },
    });
  }

  /** All runs of this worker, including ended ones whose ends are not durable yet. */
  get known(): readonly Run[] {
    const ended = [...this.#ended.values()].flatMap(({ id }) => (id === undefined ? [] : [id]));
    return [...[...this.#runs.values()].map(({ id }) => id), ...ended];
  }

  get count(): number {
    return this.#runs.size;
  }

  /** The port of the instance of this job, if it is a function. */
  portOf(job: number): number | undefined {
    return this.#portOfJob.get(job);
  }

  /** How long the worker has answered none of the orders that are under way. */
  unansweredMs(nowMs: number): number {
    return this.#underWay === 0 ? 0 : nowMs - this.#unansweredSinceMs;
  }

  /** Time in which this process did not run does not count. */
  excuse(ms: number): void {
    this.#unansweredSinceMs += ms;
  }

  /** Runs that the worker has not received go back to the queue. */
  returnQueued(reason: string): void {
    for (const run of this.#queue.values()) {
      this.#gone(run, { cause: EndCause.COULD_NOT_START, message: reason, isNodeFault: true });
    }
  }

  work({ specs, starts, stops, withdrawn }: Work): void {
    for (const { job, jobName: name, workload } of specs) {
      const { runs = 0 } = this.#specs.get(job) ?? {};
      this.#specs.set(job, { name, workload, runs });
    }
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
      if (event?.case !== "ended" || id === undefined) continue;
      if (this.#ended.delete(keyOf(id))) this.#count(id.job, -1);
    }
  }

  /** The worker's report about an instance; false: it has no such instance. */
  heard(instanceId: string, status: ResourceStatus): boolean {
    const run = this.#byInstance.get(instanceId);
    if (run === undefined || run.state === "queued") return false;
    this.#unansweredSinceMs = this.#options.clock.nowMs();
    this.#destroyOrders.answered();
    // It executes orders one by one: all of an earlier instance of this name are answered, except by this status.
    const isOfEarlier = this.#givenUp.delete(instanceId) && status === ResourceStatus.TERMINATED;
    switch (status) {
      case ResourceStatus.RUNNING:
        this.#running(run);
        break;
      case ResourceStatus.FAILED:
        this.#failed(run);
        break;
      case ResourceStatus.TERMINATED:
        if (!isOfEarlier) this.#terminated(run);
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
    this.#destroyOrders.close();
  }

  #start(id: Run): void {
    const key = keyOf(id);
    const spec = this.#specs.get(id.job);
    if (this.#runs.has(key) || this.#ended.has(key) || spec === undefined) return;
    try {
      if (spec.workload === "") throw new Error("a worker of rik runs instances of workloads only");
      const workload = readWorkload(spec.workload);
      const port = portFor(workload, id.job, (one) => this.#ports.has(one));
      if (port !== undefined && this.#ports.has(port)) {
        const message = `port ${port} is used by another instance on this worker`;
        // On another worker, or later, it is free.
        return this.#end(id, { cause: EndCause.COULD_NOT_START, message, isNodeFault: true });
      }
      const run: InstanceRun = {
        id: { job: id.job, index: id.index, attempt: id.attempt },
        key,
        instanceId: this.#freeName(spec.name, id),
        definition: toOrder(workload, port),
        port,
        state: "queued",
        startedAtMs: 0,
      };
      if (port !== undefined) {
        this.#ports.add(port);
        this.#portOfJob.set(id.job, port);
      }
      this.#count(id.job, 1);
      this.#runs.set(key, run);
      this.#byInstance.set(run.instanceId, run);
      this.#queue.set(key, run);
    } catch (error) {
      this.#end(id, { cause: EndCause.COULD_NOT_START, message: describeChain(error) });
    }
  }

  /** Two controllers may use the same name, and an array has one for all of its tasks. */
  #freeName(name: string, { job, index, attempt }: Run): string {
    if (!this.#byInstance.has(name)) return name;
    const unique = `${name}.${job}`;
    return this.#byInstance.has(unique) ? `${unique}.${index}.${attempt}` : unique;
  }

  #sendQueued(): void {
    for (const [key, run] of this.#queue) {
      if (this.#underWay >= limits.rikCreatesUnderWayMax) return;
      this.#queue.delete(key);
      if (this.#underWay === 0) this.#unansweredSinceMs = this.#options.clock.nowMs();
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
    if (run.startedAtMs > 0) {
      const message =
        "its worker reports that it failed, and gives no reason; see the log of the worker";
      return this.#gone(run, { cause: EndCause.EXITED, exitCode: 1, message });
    }
    const message = "its worker could not, and gave no reason; see the log of the worker";
    this.#gone(run, { cause: EndCause.COULD_NOT_START, message });
  }

  #terminated(run: InstanceRun): void {
    const isStopped = run.state === "stopping";
    this.#gone(run, { cause: isStopped ? EndCause.STOPPED : EndCause.EXITED });
  }

  #noteGivenUp(instanceId: string): void {
    this.#givenUp.add(instanceId);
    if (this.#givenUp.size <= limits.rikGivenUpMax) return;
    for (const oldest of this.#givenUp) {
      this.#givenUp.delete(oldest);
      return;
    }
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
    this.#destroyOrders.add(run);
  }

  #gone(run: InstanceRun, end: Ended): void {
    this.#destroyOrders.delete(run);
    this.#answered(run);
    this.#runs.delete(run.key);
    this.#queue.delete(run.key);
    if (this.#byInstance.get(run.instanceId) === run) this.#byInstance.delete(run.instanceId);
    if (run.port !== undefined) {
      this.#ports.delete(run.port);
      this.#portOfJob.delete(run.id.job);
    }
    this.#tellEnded(run.id, { startedAtMs: run.startedAtMs, ...end });
  }

  /** Of a run that this worker never had. */
  #end(id: Run, end: Ended): void {
    this.#count(id.job, 1);
    this.#tellEnded(id, end);
  }

  #count(job: number, change: 1 | -1): void {
    const spec = this.#specs.get(job);
    if (spec === undefined) return;
    spec.runs += change;
    if (spec.runs <= 0) this.#specs.delete(job);
  }

  #tellEnded(id: Run, end: Ended): void {
    const value = create(EndedSchema, { endedAtMs: this.#options.clock.nowMs(), ...end });
    const event = eventOf(id, { case: "ended", value });
    this.#ended.set(keyOf(id), event);
    this.#options.report(event);
  }
}

interface Ended {
  readonly cause: EndCause;
  readonly message?: string;
  readonly isNodeFault?: boolean;
  readonly exitCode?: number;
  readonly startedAtMs?: number;
}

const eventOf = ({ job, index, attempt }: Run, event: RunEvent["event"]): RunEvent =>
  message(RunEventSchema, { id: message(RunIdSchema, { job, index, attempt }), event });

type RunKey = number | string;
const ATTEMPTS = 64;

/** A number for nearly all of them: V8 looks new strings up in a table of its own, before it does in a map. */
const keyOf = ({ job, index, attempt }: Run): RunKey =>
  index === 0 && attempt < ATTEMPTS ? job * ATTEMPTS + attempt : `${job}.${index}.${attempt}`;
