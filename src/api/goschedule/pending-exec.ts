import { type AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ExecOptions, Executed } from "../../ports/remote-shell.ts";

/** One command on its way to a worker, or running there. It reports its end once. */
export class PendingExec {
  readonly id: string;
  readonly sizeBytes: number;
  readonly ended: Promise<Executed>;
  readonly #settle = Promise.withResolvers<Executed>();
  readonly #cancelTimer: () => void;
  #onAccepted: (() => void) | undefined;
  #isAccepted = false;

  constructor(
    { id, sizeBytes }: { readonly id: string; readonly sizeBytes: number },
    { onAccepted, timeoutMs }: ExecOptions,
    { clock, onTimeout }: { readonly clock: Clock; readonly onTimeout: () => void },
  ) {
    this.id = id;
    this.sizeBytes = sizeBytes;
    this.ended = this.#settle.promise;
    this.#onAccepted = onAccepted;
    this.#cancelTimer =
      timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, onTimeout);
  }

  /** Whether this is the first acknowledgement. */
  accepted(): boolean {
    if (this.#isAccepted) return false;
    this.#isAccepted = true;
    this.#onAccepted?.();
    this.#onAccepted = undefined;
    return true;
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  resolve(executed: Executed): void {
    this.#cancelTimer();
    this.#settle.resolve(executed);
  }

  reject(error: AppError): void {
    this.#cancelTimer();
    this.#settle.reject(error);
  }
}

/** The bytes of a tag and a length on the wire. */
const FIELD_BYTES = 6;

/** The size of its message. Throws when a worker could not accept it: it would drop its link. */
export function sizeOfExec(argv: readonly string[]): number {
  if (argv[0] === undefined || argv[0] === "") throw invalid("argv", "names no program");
  let sizeBytes = limits.goScheduleIdLengthMax;
  for (const [at, argument] of argv.entries()) {
    const bytes = Buffer.byteLength(argument);
    if (bytes >= limits.argumentBytesMax) {
      const most = limits.argumentBytesMax - 1;
      throw invalid(`argv[${at}]`, `has ${bytes} bytes; a machine takes at most ${most}`);
    }
    if (argument.includes("\0")) throw invalid(`argv[${at}]`, "has a NUL, which ends an argument");
    sizeBytes += bytes + FIELD_BYTES;
  }
  if (sizeBytes < limits.messageBytesMax) return sizeBytes;
  throw invalid("argv", `has ${sizeBytes} bytes; a worker takes less than 4 MiB`);
}
