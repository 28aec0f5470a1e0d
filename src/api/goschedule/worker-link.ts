import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type MgmtReq,
  MgmtReqSchema,
  type WorkerRsp,
} from "../../gen/goschedule/v1/scheduler_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { ExecOptions, Executed, RemoteShell } from "../../ports/remote-shell.ts";
import type { BidiPeer } from "../grpc/calls/bidi.ts";
import { addressOf } from "../grpc/peer-address.ts";
import { PendingExec, sizeOfExec } from "./pending-exec.ts";
import { silentFor } from "./status.ts";

export interface LinkSettings {
  /** Workers disconnect when they receive no request for a while: by default 10 s. */
  readonly pingMs: number;
  /** After this time without a message the server gives a worker up. */
  readonly silenceMs: number;
}

export interface LinkParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: LinkSettings;
}

const ID_BYTES = 16;

/**
 * One worker's stream, as a shell on its machine.
 *
 * - Ids of requests are new each time and cannot be guessed: only the worker that received one knows it.
 * - A worker may acknowledge after it has reported the end, or answer a request that has timed out:
 *   that is only a sign of life.
 */
export class WorkerLink implements RemoteShell {
  readonly id: string;
  readonly address: string;
  readonly #peer: BidiPeer<MgmtReq>;
  readonly #parts: LinkParts;
  readonly #execs = new Map<string, PendingExec>();
  /** Bytes of execs that were sent and not acknowledged. */
  #untakenBytes = 0;
  /** A ping under way; all callers meanwhile share it. */
  #awaited: { readonly id: string; readonly tell: (isThere: boolean) => void } | undefined;
  #isThere: Promise<boolean> | undefined;
  readonly #over = new AbortController();
  #reason: AppError | undefined;
  #cancelPing: () => void = () => undefined;
  #cancelSilence: () => void = () => undefined;

  constructor(id: string, peer: BidiPeer<MgmtReq>, parts: LinkParts) {
    this.id = id;
    this.address = addressOf(peer.context.peer) ?? "";
    this.#peer = peer;
    this.#parts = parts;
    this.#heard();
    this.#pingLater();
  }

  get closed(): AbortSignal {
    return this.#over.signal;
  }

  async exec(argv: readonly string[], options: ExecOptions = {}): Promise<Executed> {
    const sizeBytes = sizeOfExec(argv);
    this.#checkRoom(sizeBytes);
    const { clock, random } = this.#parts;
    const id = random.token(ID_BYTES);
    const onTimeout = (): void => {
      const text = `worker ${this.id} reported no end within ${options.timeoutMs} ms`;
      this.#takeOut(id)?.reject(new AppError("unavailable", text));
    };
    const exec = new PendingExec({ id, sizeBytes }, options, { clock, onTimeout });
    this.#execs.set(id, exec);
    this.#untakenBytes += sizeBytes;
    this.#send({ id, method: "exec", params: [...argv] });
    return exec.ended;
  }

  isThere(): Promise<boolean> {
    this.#isThere ??= this.#askIsThere().finally(() => (this.#isThere = undefined));
    return this.#isThere;
  }

  close(reason: AppError): void {
    this.#reason ??= reason;
    this.#peer.fail(reason); // this ends the link
  }

  /** The worker's answer. */
  received({ id }: WorkerRsp): void {
    this.#heard();
    if (this.#awaited?.id === id) this.#awaited.tell(true);
    const exec = this.#execs.get(id);
    if (exec?.accepted() === true) this.#untakenBytes -= exec.sizeBytes;
  }

  /** The worker reported the end of an exec; false: it is not pending. */
  ended(id: string, executed: Executed): boolean {
    const exec = this.#takeOut(id);
    if (exec === undefined) return false;
    this.#heard();
    exec.resolve(executed);
    return true;
  }

  /** The stream has ended, for whatever reason. */
  over(): void {
    if (this.closed.aborted) return;
    this.#cancelPing();
    this.#cancelSilence();
    const cause = this.#reason;
    const error = new AppError("unavailable", `worker ${this.id} has disconnected`, { cause });
    this.#awaited?.tell(false);
    for (const exec of this.#execs.values()) exec.reject(error);
    this.#execs.clear();
    this.#over.abort(error);
  }

  #checkRoom(sizeBytes: number): void {
    if (this.closed.aborted)
      throw new AppError("unavailable", `worker ${this.id} has disconnected`);
    const { goScheduleExecsMax, goScheduleUntakenBytesMax } = limits;
    if (this.#execs.size < goScheduleExecsMax) {
      if (this.#untakenBytes + sizeBytes <= goScheduleUntakenBytesMax) return;
    }
    throw new AppError("exhausted", `too much data is queued for worker ${this.id}`);
  }

  #takeOut(id: string): PendingExec | undefined {
    const exec = this.#execs.get(id);
    if (exec === undefined) return undefined;
    this.#execs.delete(id);
    if (!exec.isAccepted) this.#untakenBytes -= exec.sizeBytes;
    return exec;
  }

  #askIsThere(): Promise<boolean> {
    if (this.closed.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const tell = (isThere: boolean): void => {
        cancel();
        this.#awaited = undefined;
        resolve(isThere);
      };
      const cancel = this.#parts.clock.after(limits.goScheduleThereMsMax, () => tell(false));
      this.#awaited = { id: this.#ping(), tell };
    });
  }

  #heard(): void {
    const { clock, settings } = this.#parts;
    this.#cancelSilence();
    if (this.closed.aborted) return;
    this.#cancelSilence = clock.after(settings.silenceMs, () =>
      this.close(silentFor(settings.silenceMs)),
    );
  }

  #pingLater(): void {
    const { clock, settings } = this.#parts;
    this.#cancelPing = clock.after(settings.pingMs, () => {
      this.#pingLater();
      this.#ping();
    });
  }

  #ping(): string {
    const id = this.#parts.random.token(ID_BYTES);
    this.#send({ id, method: "ping", params: [] });
    return id;
  }

  #send(request: MessageInitShape<typeof MgmtReqSchema>): void {
    this.#peer.send(create(MgmtReqSchema, request));
  }
}
