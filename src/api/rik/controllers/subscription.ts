import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { FrameSink } from "../../grpc/calls/pushed-frames.ts";
import type { RikInstanceState } from "../translate.ts";
import { toMetrics } from "../translate.ts";
import { instanceFrame, workerFrame } from "../wire.ts";
import type { Worker } from "../workers/worker.ts";

/** The outcome of the report of an end. Neither is called where that is unknown: its frame was under way when the stream ended. */
export interface EndReport {
  sent(): void;
  notSent(): void;
}

interface WaitingStatus {
  readonly frame: () => Buffer;
  readonly report: EndReport | undefined;
}

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
  /** Whether it received statuses of instances of earlier controllers of its name. */
  hasAdopted = false;
  /** Whether it was open together with another one of its name. */
  isShared = false;
  /** A controller of its name has subscribed before. */
  readonly isSuccessor: boolean;
  readonly #ended = new RecentMap<string, true>(limits.rikEndsRememberedMax);
  readonly #sink: FrameSink;
  /** Ends of instances, by their ids; they leave before other statuses, which may be of another instance of that id. */
  readonly #ends = new Map<string, WaitingStatus>();
  readonly #instances = new Map<string, WaitingStatus>();
  readonly #workers = new Map<string, WaitingStatus>();
  #isUnderWay = false;
  #isDue = false;
  #takenTotal = 0;
  #stuck = { takenTotal: 0, beats: 0 };
  #isOpen = true;

  constructor(controller: string, connection: object, sink: FrameSink, isSuccessor = false) {
    this.controller = controller;
    this.connection = connection;
    this.#sink = sink;
    this.isSuccessor = isSuccessor;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The number of statuses that wait for the reader. */
  get waiting(): number {
    return this.#ends.size + this.#instances.size + this.#workers.size;
  }

  /** Whether it was sent the end of an instance of this id, lately. */
  hasEnded(id: string): boolean {
    return this.#ended.get(id) !== undefined;
  }

  instance(id: string, workloadId: string, state: RikInstanceState, report?: EndReport): void {
    const isEnd = state.status === ResourceStatus.TERMINATED;
    // The end replaces earlier statuses, and no status replaces it.
    if (isEnd) {
      this.#instances.delete(id);
      this.#ended.set(id, true);
    }
    const frame = (): Buffer => instanceFrame(id, state.status, toMetrics(workloadId, state));
    this.#put(isEnd ? this.#ends : this.#instances, id, { frame, report });
  }

  /** `identifier`: the host name, unless that is also the name of an instance. */
  worker({ peer, told }: Worker, identifier: string): void {
    const frame = (): Buffer => workerFrame(identifier, peer, told);
    this.#put(this.#workers, identifier, { frame, report: undefined });
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
    const ends = [...this.#ends.values()];
    for (const statuses of this.#inOrder()) statuses.clear();
    for (const { report } of ends) report?.notSent();
  }

  #inOrder(): readonly Map<string, WaitingStatus>[] {
    return [this.#ends, this.#workers, this.#instances];
  }

  #put(statuses: Map<string, WaitingStatus>, key: string, status: WaitingStatus): void {
    if (!this.#isOpen) return status.report?.notSent();
    if (statuses === this.#ends) statuses.get(key)?.report?.sent(); // one end of an id is enough
    statuses.set(key, status);
    if (this.#isUnderWay || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush()); // all of one commit together
  }

  #flush(): void {
    this.#isDue = false;
    if (!this.#isOpen || this.waiting === 0) return;
    const frames: Buffer[] = [];
    const reports: EndReport[] = [];
    for (const statuses of this.#inOrder()) {
      for (const [key, { frame, report }] of statuses) {
        if (frames.length >= BATCH_MAX) break;
        statuses.delete(key);
        frames.push(frame());
        if (report !== undefined) reports.push(report);
      }
    }
    this.#isUnderWay = true;
    this.#sink.send(frames, () => {
      this.#isUnderWay = false;
      this.#takenTotal += frames.length;
      if (this.#isOpen) for (const report of reports) report.sent();
      this.#flush();
    });
  }
}

const BATCH_MAX = 512;
