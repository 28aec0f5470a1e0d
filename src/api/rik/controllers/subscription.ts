import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { FrameSink } from "../../grpc/calls/pushed-frames.ts";
import type { RikInstanceState } from "../translate.ts";
import { toMetrics } from "../translate.ts";
import { instanceFrame, workerFrame } from "../wire.ts";
import type { Worker } from "../workers/worker.ts";

/**
 * The stream of one controller. While its reader has not read the last batch, the server holds only the latest status
 * of each instance and worker for it: a frozen controller costs bounded memory, and delays no other.
 */
export class Subscription {
  readonly controller: string;
  readonly connection: object;
  /** Ids that another controller of the same name has: this one received that they failed. */
  readonly clashes = new Set<string>();
  /** Resolves when it is known which others of its name live. */
  alone: Promise<unknown> = Promise.resolve();
  readonly #sink: FrameSink;
  #waiting = new Map<string, () => Buffer>();
  #isUnderWay = false;
  #isDue = false;
  #takenTotal = 0;
  #stuck = { takenTotal: 0, beats: 0 };
  #isOpen = true;

  constructor(controller: string, connection: object, sink: FrameSink) {
    this.controller = controller;
    this.connection = connection;
    this.#sink = sink;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The number of statuses that wait for the reader. */
  get waiting(): number {
    return this.#waiting.size;
  }

  instance(id: string, workloadId: string, state: RikInstanceState): void {
    const isEnd = state.status === ResourceStatus.TERMINATED;
    const key = `instance/${id}`;
    // The end replaces earlier statuses, and no status replaces it.
    if (isEnd) this.#waiting.delete(key);
    this.#put(isEnd ? `end/${id}` : key, () =>
      instanceFrame(id, state.status, toMetrics(workloadId, state)),
    );
  }

  /** `identifier`: the host name, unless that is also the name of an instance. */
  worker({ peer, told }: Worker, identifier: string): void {
    this.#put(`worker/${identifier}`, () => workerFrame(identifier, peer, told));
  }

  /** Called at regular intervals. A reader that reads nothing for several of them is cut off. */
  beat(): void {
    const isStuck = this.#isUnderWay && this.#stuck.takenTotal === this.#takenTotal;
    this.#stuck = { takenTotal: this.#takenTotal, beats: isStuck ? this.#stuck.beats + 1 : 0 };
    if (this.#stuck.beats < limits.rikStuckBeatsMax) return;
    this.end(new AppError("exhausted", "this controller reads nothing; subscribe again"));
    this.#sink.cut();
  }

  end(error: AppError): void {
    if (!this.#isOpen) return;
    this.closed();
    this.#sink.end(error);
  }

  closed(): void {
    this.#isOpen = false;
    this.#waiting.clear();
  }

  #put(key: string, frame: () => Buffer): void {
    if (!this.#isOpen) return;
    this.#waiting.set(key, frame);
    if (this.#isUnderWay || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush()); // all of one commit together
  }

  #flush(): void {
    this.#isDue = false;
    if (!this.#isOpen || this.#waiting.size === 0) return;
    const frames: Buffer[] = [];
    for (const [key, frame] of this.#waiting) {
      if (frames.length >= BATCH_MAX) break;
      this.#waiting.delete(key);
      frames.push(frame());
    }
    this.#isUnderWay = true;
    this.#sink.send(frames, () => {
      this.#isUnderWay = false;
      this.#takenTotal += frames.length;
      this.#flush();
    });
  }
}

const BATCH_MAX = 512;
